#pragma once
// libvips' operations are variadic, which Swift cannot call: each use gets one typed door.
#include <vips/vips.h>
