# SPDX-License-Identifier: Apache-2.0
"""Whatever a document says, its page is safe, complete and cut to what an observation can hold."""

from __future__ import annotations

import pytest
from lxml import html

from envs.corpus.markup import blocks_of, plain_text, text_of
from envs.corpus.parts import MAX_PARAGRAPH_CHARS, num_elements, pack
from envs.corpus.rows import Document, Format
from envs.dom import MAX_TEXT_CHARS

HOSTILE = """<!doctype html><html onload=evil()><head><title>T</title><style>p{}</style>
<base href=http://evil/><meta http-equiv=refresh content=0></head>
<body onload=evil()><script>evil()</script><p onclick=evil() style="color:red" id=x>One</p>
<iframe src=http://evil/></iframe><object data=x></object><embed src=x><svg><script>evil()</script>
</svg><form action=http://evil/><input name=a value=secret><button data-dismiss=x>Go</button>kept
</form><img src=http://evil/a.png alt="A dog" onerror=evil()><img src="data:image/png;base64,AAAA"
alt=dot><a href="javascript:evil()">two</a> <a href=http://evil/>three</a> <a href=ok ping=x>4</a>
<p hidden>unseen</p><p style="Display : none">unseen</p><noscript>unseen</noscript>
<!-- unseen --><template>unseen</template><math><mi>unseen</mi></math></body></html>"""


def resolve(target: str) -> str:
    return "http://library.forage.test/document/ok" if target == "ok" else ""


def document(text: str, form: Format = Format.HTML) -> Document:
    return Document(id="d", title="D", text=text, format=form, url="", links=())


def rendered(text: str, form: Format = Format.HTML) -> str:
    return "".join(
        html.tostring(block, encoding="unicode")
        for block in blocks_of(document(text, form), resolve)
    )


@pytest.mark.parametrize("form", [Format.HTML, Format.MARKDOWN])
def test_nothing_dangerous_survives(form: Format) -> None:
    text = HOSTILE if form is Format.HTML else "<p " + HOSTILE.partition("<p ")[2]
    page = rendered(text, form)
    for word in (
        "evil",
        "script",
        "style",
        "iframe",
        "unseen",
        "secret",
        "button",
        "dismiss",
        "form",
    ):
        assert word not in page.lower().replace("transform", ""), word
    root = html.fragment_fromstring(page, create_parent="div")
    assert {name for e in root.iter() for name in e.attrib} <= {"href", "src", "alt"}
    assert [a.get("href") for a in root.iter("a")] == [resolve("ok")]
    assert [i.get("src") for i in root.iter("img")] == ["data:image/png;base64,AAAA"]
    assert text_of(root).split() == "One kept A dog two three 4".split()


def test_text_is_never_markup() -> None:
    assert rendered("a <b>c</b> & d\n\n\n e\x00\x1b", Format.TEXT) == (
        "<p>a &lt;b&gt;c&lt;/b&gt; &amp; d</p><p>e</p>"
    )


def test_markdown_has_headings_lists_tables_and_links() -> None:
    page = rendered(
        "# Head\n\nSay **it** [here](ok) or [there](no).\n\n1. a\n2. b\n\n|k|v|\n|-|-|\n|x|y|",
        Format.MARKDOWN,
    )
    assert "<h2>Head</h2>" in page and "<strong>it</strong>" in page
    assert '<a href="http://library.forage.test/document/ok">here</a> or there.' in page
    assert page.count("<li>") == 2 and page.count("<tr>") == 2


def test_containers_dissolve_and_stray_text_becomes_paragraphs() -> None:
    blocks = blocks_of(
        document(
            "lead <i>in</i><div>one<section><p>two</p>three <a href=ok>4</a></section></div>end"
        ),
        resolve,
    )
    assert [(b.tag, text_of(b)) for b in blocks] == [
        ("p", "lead in"), ("p", "one"), ("p", "two"), ("p", "three 4"), ("p", "end"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "   ", "<!-- -->", "<script>x</script>", "<p></p>", "\x00"])
@pytest.mark.parametrize("form", list(Format))
def test_an_empty_document_has_a_part_without_blocks(text: str, form: Format) -> None:
    blocks = blocks_of(document(text, form), resolve)
    if form is not Format.TEXT:
        assert blocks == []
    assert len(pack(blocks, 50)) == 1


def test_the_indexed_text_is_what_the_page_says() -> None:
    assert plain_text(document(HOSTILE)) == "One\nkept A dog two three 4"


def test_long_paragraphs_are_cut_between_sentences_and_lose_nothing() -> None:
    sentences = [f"Sentence number {i} says a little more than the one before." for i in range(30)]
    linked = " ".join(s.replace("number", "<a href=ok>number</a>") for s in sentences)
    for text, form in ((" ".join(sentences), Format.TEXT), (f"<p>{linked}</p>", Format.HTML)):
        (part,) = pack(blocks_of(document(text, form), resolve), 1000)
        assert len(part) > 4
        said = [" ".join(block.text_content().split()) for block in part]
        assert " ".join(said) == " ".join(sentences)
        assert all(s.endswith("before.") for s in said)
        assert max(map(len, said)) < MAX_PARAGRAPH_CHARS + 80


@pytest.mark.parametrize(
    "text",
    [
        "word " * 700,
        "字" * 3000,
        "句子很长。" * 600,
        "a.b" * 1000,
        "Mr. X; " * 500,
        "<a href=ok>l</a> " * 900,
    ],
)
def test_no_text_is_longer_than_an_observation_holds(text: str) -> None:
    (part,) = pack(blocks_of(document(f"<p>{text}</p>"), resolve), 10_000)
    said = [block.text_content() for block in part]
    assert max(map(len, said)) <= MAX_TEXT_CHARS
    expected = "l " * 900 if "href" in text else text
    assert "".join("".join(said).split()) == "".join(expected.split())


@pytest.mark.parametrize("tag", ["div", "blockquote", "b", "ul><li", "table><tr><td"])
def test_unclosed_and_deeply_nested_tags_keep_their_text(tag: str) -> None:
    for depth in (1, 80):
        blocks = blocks_of(document(f"<{tag}>" * depth + "deep"), resolve)
        assert "".join(text_of(block) for part in pack(blocks, 50) for block in part) == "deep"
    # The parser gives up beyond 256 levels; that is the end of the document, not of the process.
    assert blocks_of(document(f"<p>x</p>{f'<{tag}>' * 3000}deep"), resolve)[0].text == "x"


def test_long_tables_and_lists_are_cut_into_parts_with_their_head() -> None:
    rows = "".join(f"<tr><td>r{i}</td><td><a href=ok>c{i}</a></td></tr>" for i in range(100))
    items = "".join(f"<li>i{i}</li>" for i in range(100))
    table = f"<table><caption>Cap</caption><tr><th>K</th><th>V</th></tr>{rows}</table>"
    parts = pack(blocks_of(document(f"{table}<ol>{items}</ol>"), resolve), 50)
    assert all(sum(num_elements(block) for block in part) <= 50 for part in parts)
    tables = [block for part in parts for block in part if block.tag == "table"]
    assert all(text_of(t).startswith("Cap K V") for t in tables)
    cells = [td.text_content() for t in tables for td in t.iter("td")]
    assert cells == [cell for i in range(100) for cell in (f"r{i}", f"c{i}")]
    shown = [li.text for part in parts for block in part for li in block.iter("li")]
    assert shown == [f"i{i}" for i in range(100)]


@pytest.mark.parametrize("tag", ["blockquote", "ul"])
def test_a_long_quote_or_list_that_begins_with_text_loses_nothing(tag: str) -> None:
    said = "".join(f"<a href=ok>l{i}</a> t{i} " for i in range(100))
    parts = pack(blocks_of(document(f"<{tag}>first words {said}</{tag}>"), resolve), 50)
    assert len(parts) > 1
    shown = " ".join(text_of(block) for part in parts for block in part)
    assert shown.split() == ["first", "words", *(w for i in range(100) for w in (f"l{i}", f"t{i}"))]
