# SPDX-License-Identifier: Apache-2.0
"""A three-page site and one task on it, small enough to check by eye."""

from __future__ import annotations

from envs.config import WebConfig
from envs.site import PageRequest, PageResponse
from envs.types import EvidenceItem, Split, Task, TaskPrompt, TaskTruth

HOST = "search.forage.test"
START = f"http://{HOST}/"
ANN = f"http://{HOST}/wiki/ann"
ORLA = f"http://{HOST}/wiki/orla"

_FORM = (
    '<form action="/find"><input name="q" type="search" placeholder="Search">'
    "<button>Go</button></form>"
)
_MODAL = (
    '<div id="login" role="dialog" aria-modal="true" style="position:fixed;left:0;top:0;'
    'width:100vw;height:100vh;background:#fff;z-index:9"><p>Please log in</p>'
    '<button data-dismiss="login" data-cookie="seen=1">Close</button></div>'
    "<script>document.addEventListener('click',function(e){"
    "var t=e.target.closest('[data-dismiss]');if(!t)return;"
    "var c=t.getAttribute('data-cookie');if(c)document.cookie=c+';path=/';"
    "document.getElementById(t.getAttribute('data-dismiss')).remove();});</script>"
)
_PAGES = {
    "/": ("Search", "<h1>Search</h1><p>Find anything.</p>" + _FORM),
    "/wiki/ann": (
        "Ann Bell - Encyclopedia",
        f"{_FORM}<h1>Ann Bell</h1><table><tr><th>Employer</th><td>"
        '<a href="/wiki/orla">Orla Works</a>'
        "</td></tr><tr><th>Born</th><td>1961</td></tr></table><p>Ann Bell is an engineer at "
        '<a href="/wiki/orla">Orla Works</a>.</p><ul><li><a href="/">Home</a></li></ul>'
        '<img src="/a.png" alt="portrait"><img src="/gone.png" alt="lost">' + "<p>filler</p>" * 40,
    ),
    "/wiki/orla": (
        "Orla Works - Encyclopedia",
        _FORM + "<h1>Orla Works</h1><table><tr><th>Headquarters</th><td>Vardo</td></tr></table>"
        '<p hidden>secret</p><select name="year"><option>2019</option><option>2020</option>'
        "</select>",
    ),
}


class SmallSite:
    """The site; `with_modal` puts a log-in layer over every page until it is dismissed."""

    def __init__(self, *, with_modal: bool = False) -> None:
        self._with_modal = with_modal

    def hosts(self) -> tuple[str, ...]:
        return (HOST,)

    def respond(self, request: PageRequest) -> PageResponse:
        if request.path == "/a.png":
            return PageResponse(status=200, content_type="image/png", body=b"\x89PNG")
        if request.path == "/find":
            return self._page(request, "Results", _results(request.query.get("q", "")))
        if request.path in _PAGES:
            return self._page(request, *_PAGES[request.path])
        return PageResponse(status=404, content_type="text/html", body=b"<h1>Not found</h1>")

    def _page(self, request: PageRequest, title: str, body: str) -> PageResponse:
        modal = _MODAL if self._with_modal and "seen" not in request.cookies else ""
        html = f"<!doctype html><html><head><title>{title}</title></head><body>{body}{modal}</body>"
        return PageResponse(status=200, content_type="text/html", body=html.encode())


def _results(query: str) -> str:
    hits = [(path, title) for path, (title, body) in _PAGES.items() if query.split(" ")[0] in body]
    return "<h1>Results</h1>" + "".join(
        f'<article><h3><a href="{path}">{title}</a></h3><p>about {query} and more words on it</p>'
        "</article>"
        for path, title in hits
    )


class SmallTaskSet:
    """One two-hop task."""

    def __init__(self, config: WebConfig, *, max_steps: int, with_modal: bool = False) -> None:
        self._max_steps = max_steps
        self._with_modal = with_modal

    def task(self, split: Split, index: int) -> Task:
        return Task(
            task_id=f"small-{split.value}-{index}",
            kind="two_hop",
            split=split,
            language="en",
            world_seed=0,
            task_seed=index,
            prompt=TaskPrompt(
                question="In which city is the company that employs Ann Bell based?",
                start_url=START,
                max_steps=self._max_steps,
            ),
            truth=TaskTruth(
                answers=("Vardo",),
                evidence=(
                    EvidenceItem(
                        subject="Ann Bell", url=ANN, needles=("Orla Works",), value="Orla Works"
                    ),
                    EvidenceItem(subject="Orla Works", url=ORLA, needles=("Vardo",), value="Vardo"),
                ),
                potential={ANN: 0.5, ORLA: 1.0},
            ),
        )

    def num_tasks(self, split: Split) -> None:
        """Without end."""

    def site(self, task: Task) -> SmallSite:
        return SmallSite(with_modal=self._with_modal)
