"""Property tests give the same verdict each time, on a busy machine too. LANEWISE_EXPLORE=1 looks for new examples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("explore" if os.environ.get("LANEWISE_EXPLORE") else "same")
