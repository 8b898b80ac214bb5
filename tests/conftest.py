# SPDX-License-Identifier: Apache-2.0
import os

# cuDF asks the driver about the GPU when imported, unless told not to.
os.environ.setdefault("RAPIDS_NO_INITIALIZE", "1")
