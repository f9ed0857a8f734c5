"""A minimal HTTP client for the simulator's own tests, independent of the collection."""

from __future__ import annotations

import time
from typing import Any

import requests

from .launch import Simulator

POLL_INTERVAL = 0.002


class HttpClient:
    """Calls operations of a simulator and polls their jobs. Paths are relative to service/v1/, or absolute."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.http = requests.Session()
        self.http.trust_env = False

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, Any] | None = None
    ) -> requests.Response:
        """Send a request and return the response; a header of None is not sent."""
        absolute = path.startswith("/")
        authorization = f"Bearer {self.sim.token}" if absolute else f"OAuth {self.sim.session}"
        return self.http.request(
            method,
            self.sim.url + (path if absolute else f"/service/v1/{path}"),
            json=body,
            headers={"Authorization": authorization, **(headers or {})},
            allow_redirects=False,
            timeout=30,
        )

    def poll(self, job_id: str) -> requests.Response:
        """Poll a job once, without credentials, and return the response."""
        return self.http.get(f"{self.sim.url}/service/v1/api-jobs/{job_id}", timeout=30)

    def wait_for_job(self, response: requests.Response) -> requests.Response:
        """Poll the job of a 202 until it ends and return the last response; return any other response unchanged."""
        if response.status_code != 202:
            return response
        job_id = response.json()["location"].rpartition("/")[2]
        while (response := self.poll(job_id)).status_code == 202:
            time.sleep(POLL_INTERVAL)
        return response

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, Any] | None = None) -> Any:
        """Call an operation that succeeds and return its reply."""
        response = self.wait_for_job(self.send(method, path, body, headers))
        assert response.status_code == 200, (response.status_code, response.text)
        return response.json()

    def inventory(self, method: str, path: str, body: Any = None) -> Any:
        """Call an operation that succeeds and return its inventory."""
        return self.call(method, path, body)["inventory"]

    def error(self, method: str, path: str, body: Any = None, headers: dict[str, Any] | None = None) -> Any:
        """Call an operation that fails and return its ErrorCode."""
        response = self.wait_for_job(self.send(method, path, body, headers))
        assert response.status_code == 503, (response.status_code, response.text)
        return response.json()["error"]

    def error_code(self, method: str, path: str, body: Any = None) -> Any:
        """Call an operation that fails and return the code of its error."""
        return self.error(method, path, body)["code"]

    def is_rejected(self, method: str, path: str, body: Any = None) -> bool:
        """Return whether a request is rejected at once with 400 in plain text."""
        response = self.send(method, path, body)
        return response.status_code == 400 and "Content-Type" not in response.headers

    def query(self, path: str) -> Any:
        """Return the inventories of a query."""
        return self.call("GET", path)["inventories"]
