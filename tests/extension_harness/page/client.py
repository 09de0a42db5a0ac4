"""A client that reads the page's history over real HTTP, as an extension would."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, TypeAlias

from extension_harness.page.server import SimulatedPage
from extension_harness.page.truth import Conversation

Json: TypeAlias = Any  # what an answer holds, as a test knows it

PATHS = {
    "http_recent": "/message/listRecentMessage.htm",
    "http_legacy": "/message/getChatMessageList.htm",
    "sdk": "/__simulator__/sdk/history",
}


class Client:
    """Speaks to one page over plain HTTP."""

    def __init__(self, page: SimulatedPage) -> None:
        self.page = page
        self.root = page.control_url.removesuffix("/__control__")

    def fetch(self, path: str, body: bytes | None = None) -> tuple[int, str, str]:
        """Return status, final address and text."""
        request = urllib.request.Request(self.root + path, body)  # noqa: S310 - loopback
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=10) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                location = error.headers.get("Location", "")
                return error.code, location, error.read().decode()

    def form(self, path: str, params: dict[str, Any]) -> Json:
        body = urllib.parse.urlencode({"params": json.dumps(params)}).encode()
        status, _, text = self.fetch(path, body)
        assert status == 200, (path, status, text[:200])
        return json.loads(text)

    def control(self, path: str, body: dict[str, Any] | None = None) -> Json:
        data = None if body is None else json.dumps(body).encode()
        status, _, text = self.fetch(f"/__control__{path}", data)
        return json.loads(text) | {"status": status}

    def history(
        self, surface: str, chat: Conversation, cursor: int | None, count: int = 20
    ) -> tuple[list[Any], bool]:
        """Return one page of history: its rows in the surface's order, and hasMore."""
        cid = chat.page_cid
        if surface == "http_recent":
            params: dict[str, Any] = {"conversationId": cid, "pointTimeStamp": cursor}
            data = self.form(PATHS[surface], {**params, "count": count})["data"]
            lists = [v for v in data.values() if isinstance(v, list)]
            return lists[0], data["hasMore"]
        if surface == "http_legacy":
            slide = {"forward": False, "timeStamp": cursor, "pageSize": count}
            data = self.form(PATHS[surface], {"cid": cid, "timeSlide": slide})["data"]
            return data["list"], data["hasMore"]
        page = self.form(PATHS[surface], {"cid": cid, "cursor": cursor, "count": count})
        return page["data"], page["hasMore"]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None
