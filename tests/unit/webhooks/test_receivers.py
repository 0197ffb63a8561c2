"""Which URLs can be registered: one spelling, so that nobody reads it differently."""

import pytest

from handlers.postroom.webhooks.receivers import MAX_CHARACTERS, Reach, Receiver, RefusedUrl, receiver_of

REFUSED = {
    "plain-http": "http://hooks.example.com/",
    "another-scheme": "ftp://hooks.example.com/",
    "scheme-in-capitals": "HTTPS://hooks.example.com/",
    "no-scheme": "//hooks.example.com/",
    "port-8443": "https://hooks.example.com:8443/",
    "port-22": "https://hooks.example.com:22/",
    "port-0443": "https://hooks.example.com:0443/",
    "empty-port": "https://hooks.example.com:/",
    "user": "https://user@hooks.example.com/",
    "password": "https://user:secret@hooks.example.com/",
    "user-that-looks-like-a-host": "https://hooks.example.com@127.0.0.1/",
    "backslash": "https://hooks.example.com\\@127.0.0.1/",
    "backslash-path": "https://127.0.0.1\\.example.com/",
    "tab": "https://hooks.exa\tmple.com/",
    "line-end": "https://hooks.example.com/\r\nHost: inside",
    "trailing-line-end": "https://hooks.example.com/\n",
    "space": "https://hooks.example.com/ a",
    "NUL": "https://hooks.example.com\0.inside/",
    "fragment": "https://hooks.example.com/#x",
    "address": "https://127.0.0.1/",
    "public-address": "https://93.184.216.34/",
    "short-address": "https://127.1/",
    "decimal-address": "https://2130706433/",
    "hexadecimal-address": "https://0x7f000001/",
    "hexadecimal-parts": "https://0x7f.0x0.0x0.0x1/",
    "octal-address": "https://0177.0.0.1/",
    "mixed-address": "https://169.0xfe.43518/",
    "address-with-a-trailing-dot": "https://127.0.0.1./",
    "ipv6": "https://[::1]/",
    "ipv6-with-zone": "https://[fe80::1%25eth0]/",
    "ipv4-in-ipv6": "https://[::ffff:127.0.0.1]/",
    "percent-encoded-host": "https://%31%32%37.0.0.1/",
    "full-width-digits": "https://１２７.0.0.1/",
    "circled-digits": "https://①②⑦.0.0.1/",
    "ideographic-dot": "https://127。0。0。1/",
    "idn": "https://bücher.example.com/",
    "soft-hyphen": "https://hooks\u00ad.example.com/",
    "single-label": "https://intranet/",
    "trailing-dot": "https://hooks.example.com./",
    "empty-label": "https://hooks..example.com/",
    "leading-hyphen": "https://-hooks.example.com/",
    "underscore": "https://_hooks.example.com/",
    "localhost": "https://localhost/",
    "under-localhost": "https://metadata.localhost/",
    "internal": "https://metadata.google.internal/",
    "local": "https://printer.local/",
    "home": "https://router.home.arpa/",
    "loopback-over-http": "http://127.0.0.1:8000/",
    "bad-target": "https://hooks.example.com/<script>",
    "too-long": f"https://hooks.example.com/{'a' * MAX_CHARACTERS}",
    "label-too-long": f"https://{'a' * 64}.example.com/",
    "host-too-long": f"https://{'a.' * 130}com/",
    "empty": "",
}


@pytest.mark.parametrize("url", REFUSED.values(), ids=REFUSED)
def test_any_other_spelling_is_refused(url: str) -> None:
    with pytest.raises(RefusedUrl):
        receiver_of(url)


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("https://hooks.example.com", "hooks.example.com", "/"),
        ("https://hooks.example.com/", "hooks.example.com", "/"),
        ("https://Hooks.Example.com:443/in?key=a%20b", "hooks.example.com", "/in?key=a%20b"),
        ("https://hooks.example.com?key=1", "hooks.example.com", "/?key=1"),
        ("https://xn--bcher-kva.example.com/a/b", "xn--bcher-kva.example.com", "/a/b"),
        ("https://1.2.3.4.sslip.io/", "1.2.3.4.sslip.io", "/"),
    ],
)
def test_a_name_on_port_443_is_taken(url: str, host: str, target: str) -> None:
    assert receiver_of(url) == Receiver(host, target)


def test_the_local_switch_takes_loopback_over_http_and_nothing_else_more() -> None:
    receiver = receiver_of("http://127.0.0.1:8004/ada", Reach.LOOPBACK_TOO)

    assert (receiver.tls, receiver.port, receiver.authority) == (False, 8004, "127.0.0.1:8004")
    for url in ("http://10.0.0.1:80/", "http://localhost:80/", "http://127.0.0.2:80/", "https://127.0.0.1/"):
        with pytest.raises(RefusedUrl):
            receiver_of(url, Reach.LOOPBACK_TOO)
