"""What gunicorn serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from config import postgres

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
postgres.ensure()
application = get_wsgi_application()
# A batch makes thousands of objects, and hardly one that only the collector could end: it looks less often,
# and never again at what was loaded before the first request.
gc.freeze()
gc.set_threshold(20_000, 20, 20)
