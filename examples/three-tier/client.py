"""The client of examples/three-tier.yaml: one request after the other, for some seconds."""

import sys
import time
import urllib.request

url, seconds = sys.argv[1], float(sys.argv[2])
answered, failed, slowest = 0, 0, 0.0
end = time.monotonic() + seconds
while time.monotonic() < end:
    begun = time.monotonic()
    try:
        urllib.request.urlopen(url, timeout=10).read()
        answered += 1
    except OSError as error:
        failed += 1
        print(error)
    slowest = max(slowest, time.monotonic() - begun)
print(f"{answered} answered, {failed} failed, slowest {1000 * slowest:.1f} ms")
