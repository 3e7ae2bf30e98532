"""How tests open pages and send forms, and what they read from them."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The links, forms and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words = [], []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag, **wanted):
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and all(attrs.get(key) == value for key, value in wanted.items())
        ]

    def links(self, start):
        return [attrs["href"] for attrs in self.all("a") if attrs.get("href", "").startswith(start)]

    def value(self, name):
        return next(attrs["value"] for attrs in self.all("input") if attrs.get("name") == name)


def get(client, address, status=200, **sent):
    answer = client.get(address, **sent)
    assert answer.status_code == status, answer.text
    return Page(answer.text)


def send(client, address, form, **sent):
    csrf = (
        get(client, "/login", **sent).value("csrf") if address == "/login" else get(client, "/", **sent).value("csrf")
    )
    return client.post(address, data={"csrf": csrf, **form}, **sent)
