# SPDX-License-Identifier: Apache-2.0
"""What a GET form sends, as the HTML standard has it (section 4.10.21), and what a click ticks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from lxml import html

from envs.twin.html_dom import chosen_option, option_label

_SUBMITTING = ("submit", "image")
_NEVER_SENT = ("submit", "image", "button", "reset", "file")


def submits(element: html.HtmlElement) -> bool:
    """Whether a click on the element sends its form."""
    return element.tag in ("button", "input") and _kind(element) in _SUBMITTING


def default_submitter(form: html.HtmlElement) -> html.HtmlElement | None:
    """The button that Enter in a field presses."""
    return next((e for e in form.iter("button", "input") if submits(e)), None)


def form_url(
    target: str,
    form: html.HtmlElement,
    typed: Mapping[html.HtmlElement, str],
    submitter: html.HtmlElement | None,
) -> str:
    """`target`, the form's absolute action, with what the form sends in place of its query.

    `typed` holds the values of the fields that were touched.
    """
    pairs = [
        (control.get("name", ""), value)
        for control in form.iter("input", "select", "textarea", "button")
        if control.get("name") and "disabled" not in control.attrib
        for value in _sent_values(control, typed.get(control), is_pressed=control is submitter)
    ]
    address, mark, fragment = target.partition("#")
    return f"{address.partition('?')[0]}?{urlencode(pairs)}{mark}{fragment}"


def toggle(element: html.HtmlElement) -> None:
    """A click on a check box, or on a radio button, which frees the others of its name."""
    if _kind(element) == "radio":
        for other in _group(element):
            other.attrib.pop("checked", None)
    elif "checked" in element.attrib:
        del element.attrib["checked"]
        return
    element.set("checked", "checked")


def is_check(element: html.HtmlElement) -> bool:
    """Whether the element is a check box or a radio button."""
    return element.tag == "input" and _kind(element) in ("checkbox", "radio")


def _sent_values(
    control: html.HtmlElement, typed: str | None, *, is_pressed: bool
) -> Iterator[str]:
    """What a control adds to the query: one value, or none."""
    if control.tag == "select":
        option = chosen_option(control, typed)
        if option is not None:
            yield option.get("value", option_label(option))
    elif is_check(control):
        if "checked" in control.attrib:
            yield control.get("value", "on")
    elif control.tag == "button" or _kind(control) in _NEVER_SENT:
        if is_pressed:
            yield control.get("value", "")
    elif typed is not None:
        yield typed
    else:
        yield (control.text or "") if control.tag == "textarea" else control.get("value", "")


def _group(radio: html.HtmlElement) -> Iterator[html.HtmlElement]:
    """The radio buttons of one choice."""
    above = list(radio.iterancestors())
    form = next((e for e in above if e.tag == "form"), above[-1])
    for other in form.iter("input"):
        if _kind(other) == "radio" and other.get("name") == radio.get("name"):
            yield other


def _kind(element: html.HtmlElement) -> str:
    kind: str = element.get("type", "submit" if element.tag == "button" else "text")
    return kind.lower()
