"""What gunicorn serves."""

import os

from django.core.wsgi import get_wsgi_application

from config import postgres

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
postgres.ensure()
application = get_wsgi_application()
