# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plain client of the simulator for its own tests: it speaks HTTP and knows nothing but the document."""

from __future__ import annotations

import time
import typing as t

import requests

from .launch import Simulator

POLL_INTERVAL = 0.002


class Talk:
    """Calls operations of a simulator and follows their jobs. Paths are relative to service/v1/, or absolute."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.http = requests.Session()
        self.http.trust_env = False

    def send(
        self, method: str, path: str, body: t.Any = None, headers: dict[str, t.Any] | None = None
    ) -> requests.Response:
        """Return the first answer to a call; a header of None is not sent."""
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
        """Return the answer to one poll of a job, asked without credentials."""
        return self.http.get(f"{self.sim.url}/service/v1/api-jobs/{job_id}", timeout=30)

    def finished(self, answer: requests.Response) -> requests.Response:
        """Return the result of the job that an answer tells of, or the answer itself when it is not a 202."""
        if answer.status_code != 202:
            return answer
        job_id = answer.json()["location"].rpartition("/")[2]
        while (answer := self.poll(job_id)).status_code == 202:
            time.sleep(POLL_INTERVAL)
        return answer

    def call(self, method: str, path: str, body: t.Any = None, headers: dict[str, t.Any] | None = None) -> t.Any:
        """Return the reply of a call that succeeds."""
        answer = self.finished(self.send(method, path, body, headers))
        assert answer.status_code == 200, (answer.status_code, answer.text)
        return answer.json()

    def inventory(self, method: str, path: str, body: t.Any = None) -> t.Any:
        """Return the inventory of a call that succeeds."""
        return self.call(method, path, body)["inventory"]

    def failure(self, method: str, path: str, body: t.Any = None, headers: dict[str, t.Any] | None = None) -> t.Any:
        """Return the ErrorCode of a call that fails as an operation."""
        answer = self.finished(self.send(method, path, body, headers))
        assert answer.status_code == 503, (answer.status_code, answer.text)
        return answer.json()["error"]

    def code(self, method: str, path: str, body: t.Any = None) -> t.Any:
        """Return the code of a call that fails as an operation."""
        return self.failure(method, path, body)["code"]

    def refused(self, method: str, path: str, body: t.Any = None) -> bool:
        """Tell whether a call is refused at once with 400 in plain text."""
        answer = self.send(method, path, body)
        return answer.status_code == 400 and "Content-Type" not in answer.headers

    def found(self, path: str) -> t.Any:
        """Return the inventories of a query."""
        return self.call("GET", path)["inventories"]
