# SPDX-License-Identifier: Apache-2.0
"""The spans that an agent may type or answer."""

from envs.actions import MAX_SPANS
from envs.spans import draw_spans
from envs.types import Note, SpanSource


def note(text: str, step: int = 0) -> Note:
    return Note(text=text, url="http://a.test/", title="A", step=step)


def texts(question: str, *notes: str) -> list[str]:
    return [s.text for s in draw_spans(question, [note(n) for n in notes])]


def test_names_numbers_and_quotes_of_the_question_are_spans():
    found = texts('Which firm makes the "Blue Kettle 3" sold by Mara Veldin since 1984?')
    assert "Mara Veldin" in found and "Blue Kettle 3" in found and "1984" in found
    assert "Which" not in found


def test_a_possessive_is_dropped_and_joined_names_come_in_parts_too():
    found = texts("When was Orla Works' founder born in Port of Vardo?")
    assert "Orla Works" in found
    found = texts("Is Mara Veldin and Olan Reed known?")
    assert "Mara Veldin" in found and "Olan Reed" in found


def test_the_value_of_a_row_comes_first_among_the_notes_spans():
    spans = draw_spans("Where?", [note("Headquarters: Port Vardo"), note("Population: 48,210")])
    of_notes = [s for s in spans if s.source is SpanSource.NOTE]
    assert of_notes[0].text == "48,210" and of_notes[0].note == 1
    assert "Port Vardo" in [s.text for s in of_notes if s.note == 0]


def test_numbers_keep_their_unit_and_come_bare_as_well():
    found = texts("How much?", "It was sold for $1,299.50 in 2014 and weighs 12 kg.")
    assert {"$1,299.50", "2014", "12 kg", "12"} <= set(found)


def test_a_single_digit_is_a_span_but_no_other_single_character_and_no_day_of_a_date():
    assert "7" in texts("How many?", "Moons: 7")
    assert {"3 kg", "3", "4"} <= set(texts("How much?", "It weighs 3 kg and has 4."))
    found = texts("When?", "Born: 8 January 2018", "Plan B and x | a | May 1, 1890")
    assert not {"8", "1", "B", "x", "a"} & set(found)


def test_a_date_comes_whole():
    found = texts("When?", "He was born May 10, 1890 and died 17 January 1954 in Calder.")
    assert {"May 10, 1890", "17 January 1954"} <= set(found)


def test_there_are_never_more_than_the_limit_and_no_two_alike():
    notes = [f"Row {i}: Name{i} Other{i}, Third{i} Fourth{i} and 1{i},000 km" for i in range(40)]
    found = texts("What about Alpha Beta?", *notes)
    assert len(found) == MAX_SPANS
    assert len({t.casefold() for t in found}) == len(found)


def test_the_same_input_gives_the_same_spans():
    assert texts("What is X1?", "A: B") == texts("What is X1?", "A: B")
