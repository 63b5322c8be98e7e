"""Credentials: each issuer's form, assignments and addresses, and what only stands where one would.

The credentials here are made up, and put together from pieces so that no scanner takes this file for a leak.
"""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentguard.content import secrets
from agentguard.content._text import entropy
from agentguard.content.secrets import DETECTOR, KINDS, _validators
from agentguard.errors import ConfigurationError

from ..rows import over

MIXED = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zC0bD" * 4
HEX = "0123456789abcdef" * 4
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGH"


def found(text, **options):
    return [(finding.kind, text[finding.start : finding.end]) for finding in secrets.scan(text, **options).findings]


ISSUED = [
    ("anthropic_key", "sk-" + "ant-api03-" + MIXED[:90]),
    ("atlassian_token", "ATATT3" + MIXED[:60]),
    ("aws_access_key_id", "AKIA" + "QYLPMN5HFIQR7XYA"),
    ("azure_client_secret", "abc8Q" + "~" + MIXED[:34]),
    ("databricks_token", "dapi" + HEX[:32]),
    ("digitalocean_token", "dop_v1_" + HEX),
    ("discord_webhook", "https://discord.com/api/webhooks/1234/" + MIXED[:68]),
    ("gcp_api_key", "AIza" + MIXED[:35]),
    ("gcp_oauth_token", "ya29." + MIXED[:40]),
    ("gcp_oauth_token", "GOCSPX-" + MIXED[:28]),
    ("github_token", "ghp_" + MIXED[:36]),
    ("github_token", "github_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("gitlab_token", "glpat-" + MIXED[:20]),
    ("grafana_token", "glsa_" + MIXED[:32] + "_" + HEX[:8]),
    ("huggingface_token", "hf_" + LETTERS),
    ("json_web_token", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + MIXED[:43]),
    ("linear_key", "lin_api_" + MIXED[:40]),
    ("mailgun_key", "key-" + HEX[:32]),
    ("npm_token", "npm_" + MIXED[:36]),
    ("openai_key", "sk-" + "proj-" + MIXED[:48]),
    ("openai_key", "sk-" + MIXED[:20] + "T3BlbkFJ" + MIXED[:20]),
    ("pypi_token", "pypi-" + "AgEIcHlwaS5vcmc" + MIXED[:70]),
    ("sendgrid_key", "SG." + MIXED[:22] + "." + MIXED[:43]),
    ("shopify_token", "shpat_" + HEX[:32]),
    ("slack_token", "xoxb-" + "123456789012-" + MIXED[:24]),
    ("slack_webhook", "https://hooks.slack.com/services/" + "T0AAAAAAA/B0AAAAAAA/" + MIXED[:24]),
    ("stripe_key", "sk_" + "live_" + MIXED[:24]),
    ("telegram_token", "123456789:AA" + MIXED[:33]),
    ("twilio_key", "SK" + HEX[:32]),
    ("vault_token", "hvs." + MIXED[:24]),
]
# Lines of a key, of which the rest is cut off.
LINES = f"{MIXED[:64]}\n{MIXED[5:69]}\n{MIXED[:7]}"
KEY = "-----BEGIN " + f"PRIVATE KEY-----\n{LINES}"
# Text, and the part of it that is the credential.
CARRIED = [
    ("aws_secret_access_key", "aws_secret_access_key = {}", MIXED[:20] + "/" + MIXED[:19]),
    ("azure_signature", "https://x.blob.core.windows.net/c?sv=1&sig={}&se=2", MIXED[:43] + "%3D"),
    ("azure_storage_key", "DefaultEndpointsProtocol=https;AccountKey={};EndpointSuffix=core", MIXED[:86] + "=="),
    ("basic_auth", "Authorization: Basic {}", b64encode(b"ada:tea4two").decode()),
    ("bearer_token", "Authorization: Bearer {}", MIXED[:30]),
    ("database_password", "postgresql+psycopg://app:{}@db.internal:5432/shop", "tea4two"),
    ("gcp_service_account", '"private_key_id": "{}",', HEX[:40]),
    ("password", "password = {}", "tea4two"),
    ("password", '{{"password": "{}"}}', "tea4two!"),
    ("password", '"{{\\"password\\": \\"{}\\"}}"', "tea4two!"),
    ("password", "DB_PASSWORD={} ./run", "tea4two"),
    ("password", "Your password is {}.", "tea4two"),
    ("password", "Kennwort: {}", "tee4zwei"),
    ("secret_value", 'api_key: "{}"', MIXED[:32]),
    ("secret_value", "client-secret={}&x=1", MIXED[:20]),
    ("secret_value", "'refreshToken': '{}'", MIXED[:32]),
    ("url_password", "git clone https://ada:{}@git.example.org/x", "tea4two"),
    ("private_key", "{}", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nab+/==\n-----END RSA PRIVATE KEY-----"),
    ("private_key", '"key": "{}\\n"', "-----BEGIN " + "PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----"),
    ("private_key", "{}\nrest cut", "-----BEGIN OPENSSH " + "PRIVATE KEY-----"),
    ("private_key", "{} ssh-rsa", "PuTTY-User-Key-" + "File-3:"),
    ("private_key", "{}\n... [truncated]", KEY),
    ("private_key", '{{"private_key": "{}', KEY.replace("\n", "\\n")),
    ("private_key", '["{}"]', KEY.replace("\n", '",\n "')),
    ("private_key", "k.pem:1:{}", KEY.replace("\n", "\nk.pem-20-")),
    ("private_key", "> {}\n> Regards, Ada", KEY.replace("\n", "\n> ")),
    ("private_key", "{}, and more of it", KEY.replace("\n", " ")),
    ("private_key", "{}\n\nThe rest", KEY.replace("\n", "\nProc-Type: 4,ENCRYPTED\n\n", 1)),
    ("private_key", "tail\n{}", KEY.partition("\n")[2] + "\n-----END PRIVATE KEY-----"),
    ("private_key", "{}\n", "PuTTY-User-Key-" + f"File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 2\n{LINES}"),
    ("private_key", "tls.key: {}\nkind: Secret", b64encode(f"{KEY}\n".encode()).decode()),
    ("private_key", "file: {}", b64encode(f"ab\n{KEY}\n".encode()).decode()[4:]),
    ("password", "password: {}, and", "Tr0ub4dor&Zebra91"),
    ("password", "DB_PASS={}", "Kq9!Lm2#Pz4"),
    ("password", "pwd: {} ok", "p@ss,word;99"),
    ("password", '{{"password": "{}"}}', 'ab\\"cd9!xyZ'),
    ("password", r'"{{\"password\": \"{}\"}}"', r"ab\\\"cd9!xyZ"),
    ("password", "PASSWORD='{}' ./run", "x y z-77!"),
    ("password", "PASSWORD='{}' ./run", r"it'\''s9x"),
    ("password", "password: '{}", "tea-4_2? 9"),
    ("password", '["DB_PASSWORD={}","HOME=/home/dev"]', "tea4two"),
    ("password", "Server=db;Password={};Database=shop", "tea4two"),
    ("password", "/login?password={}&next=/home", "tea4two"),
    ("password", "user=ada&password={}&remember=1", "tea4two"),
    ("password", "mysqldump --password {} shop", "tea4two"),
    ("password", "sshpass -p {} ssh db", "tea4two"),
    ("password", '"password": "{}", "x": 1', "Summer(2024)"),
    ("password", "password='{}' x", "me&you2gether"),
    ("password", 'password = "{}";', "iloveyou<3"),
    ("password", "machine api.example login ada password {}", "tea4two-4711"),
    ("basic_auth", "curl -su ada:{} https://api.example/v1", "tea4two-4711"),
    ("basic_auth", "curl --user 'ada:{}' https://api.example/v1", "tea 4 two"),
    ("basic_auth", '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}', b64encode(b"ada:tea4two-4711").decode()),
    ("secret_value", "header 'x-api-key' found, with contents: {}.", "leak_apikey_7f3a9c0011223344aabb"),
    ("secret_value", "API_KEY={}...", MIXED[:9]),
    ("secret_value", "push with {}", "ghp_" + MIXED[:12]),
    ("bearer_token", "Authorization: Bearer {}", MIXED[:12]),
    ("database_password", "postgres://app:{}@db/shop", "te@4/two"),
    ("url_password", "git clone https://ada:{}", "tea4two"),
]


@over(("kind", "secret"), ISSUED)
def test_an_issuers_form_is_found_and_nothing_around_it(kind, secret):
    assert found(f"use {secret} for it") == [(kind, secret)]
    assert found(f'{{"value":"{secret}"}}') == [(kind, secret)]


@over(("kind", "text", "secret"), CARRIED)
def test_the_place_is_the_credential_without_what_carries_it(kind, text, secret):
    assert found(text.format(secret)) == [(kind, secret)]


def test_there_is_an_example_of_every_kind():
    assert (
        {kind for kind, *_ in [*ISSUED, *CARRIED]}
        == set(KINDS)
        == {recognizer.kind for recognizer in DETECTOR.recognizers}
    )


@over(
    "text",
    [
        "",
        "password is required",
        "Enter your password: ",
        "password: string",
        'PASSWORD="${DB_PASSWORD}"',
        "password = <your password>",
        "password=********",
        "password=xxxxxxxx",
        "reset your password: https://example.org/reset?x=1",
        "reset password: [click here](https://example.org)",
        "API_KEY=os.environ['KEY_OF_SERVICE_1']",
        "api_key: YOUR_API_KEY_HERE_1",
        f'"next_page_token": "{MIXED[:32]}"',
        f"nextPageToken={MIXED[:32]}",
        "token: customer_identifier_7",
        "Authorization: Bearer <access_token_value>",
        "basic understanding of information",
        "postgres://app:password@db/shop",
        "postgres://app@db/shop",
        "https://example.org/a:b@c",
        f"commit {HEX[:40]} of aws",
        "eyJhbGciOiJIUzI1NiJ8.eyJzdWIiOiIxIn0.abc",  # its header does not decode
        "AKIAlowercaseletters",
        "sk-learn is a library",
        "ghp_" + "x" * 36,
        "-----BEGIN PUBLIC KEY-----",
        "the last line is -----END PRIVATE KEY-----",
        b64encode(b"-----BEGIN CERTIFICATE-----\nMIIE").decode(),
        "password = get_password(user1, 'x')",
        "password = request.form['password']",
        "this.password=t,this.email=n1,this.x=function(e){",
        '"password": {"type": "string", "minLength": 8},',
        '"password": "must be at least 8 characters"',
        '{"password": "", "name": "ada99"}',
        "tests pass: 123456",
        "PASSWORD=$(cat /run/secrets/db_1)",
        "curl -u $USER:$PASSWORD https://api.example/v1",
        "curl -u ada https://api.example:8080/v1",
        "login with password 12",
        "http://localhost:8080",
        "sk-learn2",
    ],
)
def test_what_only_stands_where_a_secret_would_is_left_alone(text):
    assert found(text) == []


@pytest.mark.parametrize("key", ["x59WAg5KQaVXoa3bE1uFPzrXxXXHGoaH9deQhRVXBaDxtrq", "7fK2xxxxQ9vLm4Rt81ZpWc0Tn5"])
@pytest.mark.parametrize("before", ["X-Api-Key: ", "api_key=", "password: "])
def test_a_key_with_four_crosses_is_a_key(before, key):
    assert key[:6] not in secrets.redact(f"{before}{key}").text


def test_a_token_whose_checksum_holds_is_surer():
    # The checksum of thirty times A is the base-62 form of its CRC-32, 1788580639.
    held, changed = "ghp_" + "A" * 30 + "0uCPlr", "ghp_" + "A" * 30 + "0uCPls"
    assert secrets.scan(held).score == 0.99
    assert secrets.scan(changed).score == 0.7
    assert secrets.scan("npm_" + "A" * 30 + "0uCPlr").score == 0.99


def test_the_crc_is_of_what_stands_between_prefix_and_checksum():
    import zlib

    digits, number = "", zlib.crc32(b"A" * 30)
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    while number:
        number, digit = divmod(number, 62)
        digits = alphabet[digit] + digits
    assert digits.rjust(6, "0") == "0uCPlr"


def test_words_assigned_to_a_password_count_below_a_half():
    assert found("password: sunshine") == []
    assert found("password: sunshine", at_least=0.3) == [("password", "sunshine")]
    assert found("password: required", at_least=0.3) == []


def test_entropy():
    assert entropy("") == 0.0
    assert entropy("aaaa") == 0.0
    # Two characters, half each: one bit. Four, a quarter each: two bits.
    assert entropy("abab") == 1.0
    assert entropy("abcd") == 2.0


def test_a_finding_shows_nothing_of_the_secret():
    assert "tea4two" not in repr(secrets.scan("password = tea4two"))


def test_an_unknown_kind_is_said_by_name():
    with pytest.raises(ConfigurationError, match="'pin'"):
        secrets.scan("", kinds=["pin"])


@given(
    st.text()
    | st.text(alphabet="password=:\"'\\ is.x1$<{", max_size=100)
    | st.lists(
        st.sampled_from(["password=", "-----BEGIN PRIVATE KEY-----", "eyJ", "://a:", "@b", "bearer ", "\n", "x1"])
    ).map("".join)
)
def test_any_text_is_scanned(text):
    end = 0
    for finding in secrets.scan(text, at_least=0.0).findings:
        assert end <= finding.start < finding.end <= len(text)
        end = finding.end


@given(st.binary(max_size=60), st.text(max_size=60))
def test_checks_take_any_text(data, text):
    for candidate in (text, data.decode("latin-1"), b64encode(data).decode()):
        _validators.basic_pair(candidate)
        _validators.json_web_token(candidate)
        _validators.crc32_token(candidate)
        _validators.token_like(candidate)
        _validators.password_like(candidate)


def test_half_of_a_surrogate_pair_hides_no_secret():
    half = "\ud83d"
    assert found(f"password=tea4{half}two") == [("password", f"tea4{half}two")]
    assert not found(f"password=<{half}password>")
    assert not _validators.token_like(f"a1{half}" * 2)
    assert _validators.token_like(f"f3Kq9vT2xLr8Wm5Z{half}")
