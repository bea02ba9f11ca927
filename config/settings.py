"""Django's settings, made from a checked environment; the README's table lists what can be set."""

import hashlib

import csp.constants as csp
import django_stubs_ext
from psycopg.conninfo import conninfo_to_dict

from config import environment, kept, postgres
from config.environment import ROOT

# Lets Django's generic classes be written with their types, as in models.Field[Any, Any].
django_stubs_ext.monkeypatch()

ENVIRONMENT = environment.read()

# --- the installation

DATA_DIR = ENVIRONMENT.data_dir
INSTALLATION = ENVIRONMENT.installation
DISPLAY_ZONE = ENVIRONMENT.time_zone
DEBUG = ENVIRONMENT.debug
SECRET_KEY = ENVIRONMENT.secret_key or kept.secret_key(DATA_DIR)
PAYLOAD_KEYS = ENVIRONMENT.payload_keys or kept.keyring(DATA_DIR, "payload_keys")
DIGEST_KEYS = ENVIRONMENT.digest_keys or kept.keyring(DATA_DIR, "digest_keys")

METRICS_TOKEN = ENVIRONMENT.metrics_token
DELIVERIES_DAYS = ENVIRONMENT.deliveries_days
RULES_BY_TWO = ENVIRONMENT.rules_by_two

# --- what it is made of

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "csp",
    "django_htmx",
    "django_q",
    "ninja",
    "ledger",
    "reconcile",
    "review",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "ledger.door.boundary.Boundary",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "review.zones.Middleware",
    "review.sights.Middleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "review.sessions.Limits",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- the database: two roles of one database


def _database(url: str) -> dict[str, object]:
    parts = conninfo_to_dict(url)
    taken = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    options = {name: value for name, value in parts.items() if name not in taken and value is not None}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{django: str(parts.get(libpq) or "") for libpq, django in taken.items()},
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        # No pool: it hangs the queue's cluster. What asks to be prepared is (the fast path); nothing else is.
        "OPTIONS": {"application_name": "tieout", "connect_timeout": 10, "prepare_threshold": 0, **options},
    }


if ENVIRONMENT.database_url:
    _app_url = ENVIRONMENT.database_url
    _owner_url = ENVIRONMENT.database_owner_url or ENVIRONMENT.database_url
else:
    _app_url, _owner_url = postgres.urls(DATA_DIR)

DATABASES = {
    # The application's own role: it owns nothing, so it can neither change the schema nor TRUNCATE.
    "default": _database(_app_url),
    # Owns the schema; for `migrate --database owner` and `createcachetable --database owner` alone.
    "owner": _database(_owner_url),
}

# Shared by all processes, for the limits of signing in live in it. It has room enough that who floods it with
# names pushes no lock out: what has lapsed goes first.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "tieout_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
    # The queue's own statistics, written twice a second and believed by nobody: they need no database.
    "queue": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}

# The queue only nudges: what is due is in the ledger. retry >= (2 + queue_limit / workers) * timeout + more.
Q_CLUSTER = {
    "name": "tieout",
    "orm": "default",
    "workers": 2,
    "queue_limit": 2,
    "bulk": 1,
    "poll": 0.25,
    "timeout": 60,
    "retry": 3600,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "catch_up": False,
    "recycle": 500,
    "time_zone": "UTC",
    "cache": "queue",
    # Schedules are ours: see SWEEP_HOOKS.
    "scheduler": False,
}
# What else the worker's sweep does every two seconds: functions without arguments that are soon done.
SWEEP_HOOKS = [
    "reconcile.scheduling.sweep",
    "reconcile.statements.keeping.sweep",
    "reconcile.statements.evidence.actions.sweep",
    "review.bulk.sweeping.sweep",
    "ledger.webhooks.sweeping.sweep",
    "reconcile.proposals.actions.sweep",
    "review.notices.sweeping.sweep",
    "reconcile.differences.actions.sweep",
    "reconcile.differences.matching.take_effect",
    "reconcile.signing.actions.sweep",
]

# --- words, times and files

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- signing in: by name, made by an administrator

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_ADAPTER = "review.adapter.Adapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# Who guesses at a name is stopped by the name. An office behind one address signs in at once, on a Monday at
# eight: what is under way counts as wrong until its password is checked.
ACCOUNT_RATE_LIMITS = {"login": "300/m/ip", "login_failed": "60/m/ip,300/h/ip,5/300s/key"}
ACCOUNT_SESSION_REMEMBER = False
ALLAUTH_TRUSTED_PROXY_COUNT = ENVIRONMENT.trusted_proxies
SIGN_IN_AGAIN_MINUTES = ENVIRONMENT.sign_in_again_minutes
ACCOUNT_REAUTHENTICATION_TIMEOUT = SIGN_IN_AGAIN_MINUTES * 60
SECOND_FACTOR_ROLES = frozenset(ENVIRONMENT.second_factor_roles)
MFA_ADAPTER = "review.second_factor.MFAAdapter"
MFA_FORMS = {"activate_totp": "review.second_factor.AppForm"}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
# A passkey is two factors in one: what is held, and a finger or PIN that opens it.
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_RECOVERY_CODES_SHOW_ONCE = True
# A clock that is half a minute off is no wrong code.
MFA_TOTP_TOLERANCE = 1
OIDC_ISSUER = ENVIRONMENT.oidc_issuer
OIDC_NAME = ENVIRONMENT.oidc_name
OIDC_CLAIM = ENVIRONMENT.oidc_claim
OIDC_SECOND_FACTOR = ENVIRONMENT.oidc_second_factor
# Whom an issuer knows by an id is nobody's business of the next one's: accounts are tied to the issuer, too.
OIDC_PROVIDER = f"sso-{hashlib.sha256((OIDC_ISSUER or '').encode()).hexdigest()[:12]}"
SOCIALACCOUNT_ADAPTER = "review.single_sign_on.Adapter"
# A form that leads to another site is what the content policy forbids; a link may. The state guards it.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "AUTH_PARAMS": {"max_age": str(SIGN_IN_AGAIN_MINUTES * 60)},
        "APPS": [
            {
                "provider_id": OIDC_PROVIDER,
                "name": OIDC_NAME,
                "client_id": ENVIRONMENT.oidc_client_id,
                "secret": ENVIRONMENT.oidc_client_secret,
                "settings": {"server_url": OIDC_ISSUER},
            }
        ]
        if OIDC_ISSUER
        else [],
    }
}
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"

# --- the outside

ALLOWED_HOSTS = ENVIRONMENT.allowed_hosts
PUBLIC_URL = ENVIRONMENT.public_url or f"http://localhost:{ENVIRONMENT.port}"
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.csrf_trusted_origins
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "review.uploads.UnlinkedUploadHandler",
]
# Two files of 200 MiB, and what a form says beside them.
STREAMED_BODIES = {"/compare/": 401 * 1024 * 1024}
SESSION_ENGINE = "review.sessions"
SESSION_COOKIE_AGE = ENVIRONMENT.session_hours * 3600
SESSION_IDLE_MINUTES = ENVIRONMENT.session_idle_minutes
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "review.views.trouble.csrf"
# What is said to a person stays on the server, not in a cookie.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [csp.NONE],
        "script-src": [csp.SELF],
        "style-src": [csp.SELF],
        "img-src": [csp.SELF],
        "connect-src": [csp.SELF],
        "form-action": [csp.SELF],
        "base-uri": [csp.NONE],
        "frame-ancestors": [csp.NONE],
    }
}
if ENVIRONMENT.behind_tls:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    # A load balancer asks for these two without TLS.
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

# --- mail: what people are told by it holds counts and addresses of pages only

MAIL = ENVIRONMENT.smtp_host is not None
EMAIL_HOST, EMAIL_PORT = ENVIRONMENT.smtp_host or "", ENVIRONMENT.smtp_port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = ENVIRONMENT.smtp_user or "", ENVIRONMENT.smtp_password or ""
EMAIL_USE_TLS = ENVIRONMENT.smtp_security == "starttls"
EMAIL_USE_SSL = ENVIRONMENT.smtp_security == "tls"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ENVIRONMENT.mail_from or ""

# --- logs: plain lines to stderr, without bodies, without headers and without rows

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.logs.Line",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
    },
    "filters": {"not of readiness": {"()": "config.logs.NotOfReadiness"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.log_level},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        # A 409 is an everyday answer of the API, not news.
        "django.request": {"level": "ERROR", "filters": ["not of readiness"]},
        # Five lines for every task, the heartbeat's too.
        "django-q": {"level": "WARNING"},
        # Their INFO lines carry whole addresses, and so references and names.
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        # It says the ids of passkeys.
        "fido2": {"level": "WARNING"},
    },
}
