"""The state of the service: tables of records, queries, jobs and sessions."""
