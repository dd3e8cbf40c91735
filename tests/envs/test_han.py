# SPDX-License-Identifier: Apache-2.0
"""Chinese text without blanks: chunks, pairs of characters, and spans made of them."""

from envs.han import han_chunks, split_han
from envs.spans import draw_spans
from envs.types import Note
from envs.web.search_index import IndexedPage, SearchIndex, snippet, words_of


def test_chunks_stand_between_function_words_and_what_is_not_chinese():
    assert han_chunks("林远航在北辰集团的总部，since 1984年") == [
        "林远航",
        "北辰集团",
        "总部",
        "年",
    ]
    assert han_chunks("no Chinese at all 12") == []


def test_words_of_a_name_are_found_in_the_words_of_a_sentence_in_their_order():
    name, sentence = split_han("林远航"), split_han("雇用了林远航的公司")
    assert name == ["林远", "远航"]
    at = sentence.index("林远")
    assert sentence[at : at + 2] == name
    assert split_han("ZD2682号") == ["ZD2682", "号"]


def test_the_ranking_counts_pairs_and_leaves_other_languages_as_they_were():
    assert words_of("The 林远航 of Port-Vardo 12") == ["林远", "远航", "port", "vardo", "12"]
    index = SearchIndex(
        [
            IndexedPage(url="a", title="林远明", text="在北辰集团工作"),
            IndexedPage(url="b", title="林远航", text="在北辰集团工作"),
        ]
    )
    assert [page.url for page in index.search("林远航")] == ["b", "a"]


def test_a_chinese_snippet_shows_the_query_and_is_cut_without_blanks():
    text = "前文" * 200 + "林远航" + "后文" * 200
    shown = snippet(text, "林远航")
    assert "林远航" in shown and len(shown) < 200


def _texts(question: str, *notes: str) -> list[str]:
    made = [Note(text=text, url="http://a.test/", title="A", step=0) for text in notes]
    return [span.text for span in draw_spans(question, made)]


def test_names_in_chinese_questions_and_notes_are_spans():
    found = _texts(
        "林远航的雇主的总部在哪座城市？", "总部: 临川市", "董事会每季度在青阳港的老楼里开会。"
    )
    assert {"林远航", "雇主", "总部", "临川市", "青阳港"} <= set(found)


def test_a_chinese_paragraph_is_no_span_but_a_short_note_is():
    paragraph = "雇主是北辰集团。" * 20
    found = _texts("谁？", paragraph, "北辰集团。")
    assert "北辰集团" in found and max(map(len, found)) < 20


def test_the_day_of_a_chinese_date_is_no_span():
    found = _texts("哪一年？", "2021: 62.3分贝 | 2021年3月5日 | 现行")
    assert {"2021", "62.3", "2021年3月5日"} <= set(found)
    assert not {"3", "5"} & set(found)
