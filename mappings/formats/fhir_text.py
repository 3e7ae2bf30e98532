"""The texts of a FHIR resource: its attachments, or if it has none its narrative and conclusion."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mappings.documents import MAX_TEXT_CHARACTERS, clean
from mappings.errors import InvalidInput
from mappings.formats.fields import object_of, objects_of, text_of
from mappings.formats.markup import html_text

_HTML: Final = ("text/html", "application/xhtml+xml")
_ACCEPTED: Final = ("text/plain", *_HTML)
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([^\s"';]*)""", re.IGNORECASE)
_CHARSETS: Final = re.compile(r"(utf|(us-)?ascii|iso|windows|cp|latin|koi8|gb|big5|euc|shift|mac)[\w.:-]{0,20}")
"""Python also has codecs that are not charsets, such as idna, which is slow."""

_Attachment = tuple[str, Mapping[str, Any]]


class _NotReadable(InvalidInput):
    """An attachment in a form that cannot be read; another attachment of the same record may be readable."""


def texts_of_resource(resource: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(title, text) of each attachment, or else of narrative and conclusion. Raises `InvalidInput` that names the field.

    FHIR allows several forms of one document: a repeated text counts once, and a PDF beside a text is ignored.
    """
    found: dict[str, str] = {}
    unreadable: list[_NotReadable] = []
    for place, attachment in _attachments(resource):
        try:
            found.setdefault(_text(place, attachment), text_of(attachment, "title").strip())
        except _NotReadable as error:
            unreadable.append(error)
    if not found and unreadable:
        raise unreadable[0]
    return [(title, text) for text, title in found.items()] or list(_narrative(resource))


def _attachments(resource: Mapping[str, Any]) -> Iterator[_Attachment]:
    for number, content in enumerate(objects_of(resource, "content")):
        if not isinstance(content.get("attachment"), dict):
            raise InvalidInput(f"content[{number}].attachment must be an object", field=f"content[{number}].attachment")
        yield f"content[{number}].attachment", content["attachment"]
    for number, form in enumerate(objects_of(resource, "presentedForm")):
        yield f"presentedForm[{number}]", form


def _text(place: str, attachment: Mapping[str, Any]) -> str:
    kind, charset = _content_type(place, attachment)
    content = _data(place, attachment)
    try:
        text = _decode(content, charset).removeprefix("\ufeff")
        text = html_text(text) if kind in _HTML else text
    except InvalidInput as error:
        raise InvalidInput(f"{place}.data: {error.message}", field=f"{place}.data") from error
    except (LookupError, ValueError) as error:
        message = f"{place}.data is not text in {charset[:40] or 'UTF-8'}; contentType can name another charset"
        raise InvalidInput(message, field=f"{place}.data") from error
    if "\x00" in text or len(text) > MAX_TEXT_CHARACTERS:
        fault = "is not text: it contains the character 0" if "\x00" in text else "is too long"
        raise InvalidInput(f"{place}.data {fault}", field=f"{place}.data")
    if not text.strip():
        raise _NotReadable(f"{place}.data contains no text", field=f"{place}.data")
    return clean(text.replace("\r\n", "\n")).strip()


def _decode(content: bytes, charset: str) -> str:
    if charset and not _CHARSETS.fullmatch(charset):
        raise LookupError(charset)
    return content.decode(charset or "utf-8")


def _content_type(place: str, attachment: Mapping[str, Any]) -> tuple[str, str]:
    """The lowercase type, and the charset or ""."""
    content_type = text_of(attachment, "contentType")
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in _ACCEPTED:
        found = f"{kind[:80]!r} is not supported" if kind else "it is missing"
        raise _NotReadable(f"{place}.contentType: {found}; {', '.join(_ACCEPTED)} are", field=f"{place}.contentType")
    charset = _CHARSET.search(content_type)
    return kind, charset[1].lower() if charset else ""


def _data(place: str, attachment: Mapping[str, Any]) -> bytes:
    data = attachment.get("data")
    if not data:
        only = "the attachment has only a url, and nothing is fetched" if attachment.get("url") else "it is missing"
        raise _NotReadable(f"{place}.data: {only}", field=f"{place}.data")
    if not isinstance(data, str):
        raise InvalidInput(f"{place}.data must be a base64 string", field=f"{place}.data")
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"{place}.data is not valid base64 ({error})", field=f"{place}.data") from error


def _narrative(resource: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    narrative = object_of(resource, "text")
    text = html_text(text_of(narrative, "div")) if narrative.get("status") != "empty" else ""
    conclusion = text_of(resource, "conclusion").strip()
    if text:
        yield "", text
    if conclusion and " ".join(conclusion.split()) not in " ".join(text.split()):
        yield "Conclusion" if text else "", conclusion
