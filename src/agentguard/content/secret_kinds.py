"""The kinds of credentials, and what each looks like: most by the prefix that its issuer gives it."""

from __future__ import annotations

from agentguard.content import credentials as check
from agentguard.content.forms import Form

__all__ = ["FORMS", "KINDS"]

KINDS = {
    "anthropic_key": "an Anthropic key",
    "atlassian_token": "an Atlassian token",
    "aws_access_key_id": "an AWS access key's id",
    "aws_secret_access_key": "an AWS secret access key",
    "azure_client_secret": "an Azure client secret",
    "azure_signature": "an Azure shared access signature",
    "azure_storage_key": "an Azure storage key",
    "basic_auth": "a name and password for HTTP's Basic scheme",
    "bearer_token": "a bearer token",
    "database_password": "a password in a database's address",
    "databricks_token": "a Databricks token",
    "digitalocean_token": "a DigitalOcean token",
    "discord_webhook": "a Discord webhook",
    "gcp_api_key": "a Google API key",
    "gcp_oauth_token": "a Google OAuth token or client secret",
    "gcp_service_account": "a Google service account's key",
    "github_token": "a GitHub token",
    "gitlab_token": "a GitLab token",
    "grafana_token": "a Grafana token",
    "huggingface_token": "a Hugging Face token",
    "json_web_token": "a JSON Web Token",
    "linear_key": "a Linear key",
    "mailgun_key": "a Mailgun key",
    "npm_token": "an npm token",
    "openai_key": "an OpenAI key",
    "password": "a password",
    "private_key": "a private key",
    "pypi_token": "a PyPI token",
    "secret_value": "a value assigned to a key, secret or token",
    "sendgrid_key": "a SendGrid key",
    "shopify_token": "a Shopify token",
    "slack_token": "a Slack token",
    "slack_webhook": "a Slack webhook",
    "stripe_key": "a Stripe key",
    "telegram_token": "a Telegram bot's token",
    "twilio_key": "a Twilio key",
    "url_password": "a password in an address",
    "vault_token": "a HashiCorp Vault token",
}

DATABASES = r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle|clickhouse|cockroachdb)"
USER_INFO = r"[^\s/:@\"'<>?#]*:[^\s/@\"'<>]+@[a-zA-Z0-9\[._-]"
IN_URL = check.group_part(r"//[^:@]*:([^@]+)@")
# A name, perhaps quoted and the quotation mark perhaps escaped, a sign of assignment, a value.
ASSIGNED = r"\\?[\"'`]?\s*(?:=>|:=|[:=]|\bis:?\s)\s*\\?"
QUOTED = r"(?:\"[^\"\s]+\"|'[^'\s]+'|`[^`\s]+`|[^\s\"'`,;<>{}()&\\]+)"
PW_NAMES = r"(?i)(?:passwor[dt]|passwd|pwd|passphrase|passcode|kennwort|contraseña|senha|mot de passe)"
KEY_NAMES = (
    r"(?i)(?:api[_ -]?key|secret[_ -]?key|access[_ -]?key|private[_ -]?key|account[_ -]?key|encryption[_ -]?key|"
    r"signing[_ -]?key|(?:client|app|webhook|shared|consumer)[_ -]?secret|"
    r"(?:access|auth|api|refresh|session|bot|bearer|personal|deploy|id|security)[_ -]?token|\bsecret|\btoken)"
)
LAST_WORD = check.group_part(r"(\S+)\Z")

KEY_NAME = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?"

# Every prefix here is stated by its issuer, so that hardly anything else looks like it.
DISTINCT = (
    ("anthropic_key", r"\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{20,}", 0.99, check.no_placeholder, None),
    ("atlassian_token", r"\bATATT3[A-Za-z0-9_=-]{50,}", 0.99, None, None),
    (
        "aws_access_key_id",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z2-7]{16}\b",
        0.95,
        None,
        None,
    ),
    ("azure_client_secret", r"\b[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}", 0.95, None, None),
    ("azure_signature", r"[?&]sig=[A-Za-z0-9%/+]{40,}(?:=|%3[dD])", 0.9, None, check.group_part("sig=(.+)")),
    ("azure_storage_key", r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}", 0.99, None, check.group_part("AccountKey=(.+)")),
    ("basic_auth", r"(?i)\bbasic +[a-z0-9+/]{8,}={0,2}", 0.9, check.basic_pair, LAST_WORD),
    ("bearer_token", r"(?i)\bbearer +[a-z0-9_.~+/-]{16,}=*", 0.8, check.token_like, LAST_WORD),
    (
        "database_password",
        rf"(?i)\b{DATABASES}(?:\+[a-z0-9]+)?://{USER_INFO}",
        0.97,
        check.no_placeholder,
        IN_URL,
    ),
    ("databricks_token", r"\bdapi[0-9a-f]{32}\b", 0.99, None, None),
    ("digitalocean_token", r"\bdo[opr]_v1_[0-9a-f]{64}\b", 0.99, None, None),
    (
        "discord_webhook",
        r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{60,}",
        0.99,
        None,
        None,
    ),
    ("gcp_api_key", r"\bAIza[0-9A-Za-z_-]{35}", 0.99, None, None),
    ("gcp_oauth_token", r"\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{28}", 0.99, None, None),
    (
        "gcp_service_account",
        r"\"private_key_id\\?\"\s*:\s*\\?\"[0-9a-f]{40}",
        0.95,
        None,
        check.group_part("([0-9a-f]{40})"),
    ),
    ("github_token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b", 0.99, check.crc32_token, None),
    ("github_token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b", 0.7, check.no_placeholder, None),
    ("github_token", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b", 0.99, None, None),
    (
        "gitlab_token",
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|agent|oas)-[0-9A-Za-z_-]{20,}",
        0.99,
        check.no_placeholder,
        None,
    ),
    ("grafana_token", r"\bgl(?:sa|c)_[A-Za-z0-9+/_]{32,}", 0.95, None, None),
    ("huggingface_token", r"\b(?:hf|api_org)_[A-Za-z]{34}\b", 0.99, check.no_placeholder, None),
    (
        "json_web_token",
        r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*",
        0.95,
        check.json_web_token,
        None,
    ),
    ("linear_key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b", 0.99, None, None),
    ("mailgun_key", r"\bkey-[0-9a-f]{32}\b", 0.9, None, None),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b", 0.99, check.crc32_token, None),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b", 0.7, check.no_placeholder, None),
    ("openai_key", r"\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}", 0.99, None, None),
    ("openai_key", r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{32,}", 0.9, check.token_like, None),
    ("password", rf"{PW_NAMES}{ASSIGNED}{QUOTED}", 0.7, check.password_like, check.assigned_part),
    ("password", rf"{PW_NAMES}{ASSIGNED}{QUOTED}", 0.3, check.no_placeholder, check.assigned_part),
    ("pypi_token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}", 0.99, None, None),
    ("secret_value", rf"{KEY_NAMES}{ASSIGNED}{QUOTED}", 0.8, check.token_like, check.assigned_part),
    ("sendgrid_key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}", 0.99, None, None),
    ("shopify_token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b", 0.99, None, None),
    (
        "slack_token",
        r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\bxapp-[0-9]-[0-9A-Za-z-]{20,}",
        0.99,
        check.no_placeholder,
        None,
    ),
    (
        "slack_webhook",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/]{20,}",
        0.99,
        check.no_placeholder,
        None,
    ),
    (
        "stripe_key",
        r"\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}|\bwhsec_[0-9A-Za-z+/]{24,}",
        0.99,
        check.no_placeholder,
        None,
    ),
    ("telegram_token", r"\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}", 0.99, None, None),
    ("twilio_key", r"\bSK[0-9a-f]{32}\b", 0.9, None, None),
    ("url_password", rf"(?i)\b[a-z][a-z0-9+.-]*://{USER_INFO}", 0.95, check.no_placeholder, IN_URL),
    ("vault_token", r"\bhv[bs]\.[A-Za-z0-9_-]{24,}", 0.99, None, None),
)
FORMS = (
    *(Form(kind, shape, sure, sure, "", valid, part, whole=False) for kind, shape, sure, valid, part in DISTINCT),
    Form(
        "aws_secret_access_key",
        r"\b[A-Za-z0-9/+]{40}\b",
        0.2,
        0.9,
        r"aws[a-z ]*|secret[a-z ]*|secret ?access ?key",
        check.aws_secret,
    ),
    # To its end where that is there, else the line that says what follows.
    Form(
        "private_key",
        rf"-----BEGIN {KEY_NAME}-----(?:(?:-?[A-Za-z0-9+/=\s:,.()\\])*-----END {KEY_NAME}-----)?",
        0.99,
        0.99,
        whole=False,
    ),
    Form("private_key", r"PuTTY-User-Key-File-[23]:", 0.95, 0.95, whole=False),
)
