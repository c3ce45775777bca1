#!/bin/sh
# Makes the images of this directory. Needs Debian's imagemagick, libheif-examples, libavif-bin, libvips-tools, exiftool
# and python3.
set -eu
cd "$(dirname "$0")"

# A gradient with a red corner at the top left, so that one can see which way is up.
draw() { convert -size "$1" gradient:white-navy -fill red -draw 'rectangle 0,0 19,14' -depth 8 "$2"; }

draw 80x60 rgb.png
convert rgb.png -quality 92 -strip plain.jpg
convert rgb.png -quality 92 -interlace JPEG -strip progressive.jpg
convert rgb.png -colorspace CMYK -quality 92 -strip cmyk.jpg
vips black tmp.v 8 8 --bands 4 && vips linear tmp.v tmp2.v "1 1 1 1" "0 0 0 255" --uchar
vips copy tmp2.v tmp.v --interpretation cmyk && vips jpegsave tmp.v cmyk-black.jpg --Q 95 --strip && rm tmp.v tmp2.v
convert rgb.png -colorspace Gray -quality 92 -strip grey.jpg
convert -size 80x60 gradient:white-navy -depth 16 -define png:bit-depth=16 rgb16.png
convert -size 100x100 xc:white -depth 16 -define png:color-type=2 -define png:bit-depth=16 white16.png
convert -size 80x60 xc:none -fill '#ff000080' -draw 'rectangle 20,15 59,44' -depth 8 alpha.png
convert rgb.png still.gif
convert -delay 10 -loop 0 \( rgb.png \) \( rgb.png -negate \) \( rgb.png -flop \) animated.gif
convert rgb.png -quality 80 still.webp
convert alpha.png -quality 80 alpha.webp
convert -delay 10 -loop 0 \( rgb.png \) \( rgb.png -negate \) animated.webp
convert rgb.png still.avif
convert rgb.png still.heic
vips invert rgb.png negative.png
vips flip rgb.png flopped.png horizontal
vips bandjoin_const rgb.png opaque.png 255
# One colour of Display P3, by code points.
vips black tmp.v 64 64 --bands 3 && vips linear tmp.v tmp2.v "1 1 1" "200 100 100" --uchar
vips copy tmp2.v p3.png --interpretation srgb && rm tmp.v tmp2.v
avifenc --min 0 --max 0 -y 444 --cicp 12/13/6 p3.png p3.avif
heif-enc -q 100 -p chroma=444 p3.png -o p3.heic
rm p3.png
# heif-enc writes no code points.
python3 - <<'P'
import struct
b = open('p3.heic', 'rb').read()
colr = struct.pack('>I4s4sHHHB', 19, b'colr', b'nclx', 12, 13, 6, 0x80)
def box(data, kind, start=0):
    while start < len(data):
        length, = struct.unpack_from('>I', data, start)
        if data[start + 4:start + 8] == kind: return start, length
        start += length
def inside(data, head, kind, change):
    place, length = box(data, kind, head)
    body = change(data[place + 8:place + length])
    return data[:place] + struct.pack('>I4s', len(body) + 8, kind) + body + data[place + length:]
def properties(body):
    place, length = box(body, b'ipco')
    count, at = 0, place + 8
    while at < place + length:
        count, at = count + 1, at + struct.unpack_from('>I', body, at)[0]
    body = inside(body, 0, b'ipco', lambda b: b + colr)
    # One item; the associations of a byte each.
    return inside(body, 0, b'ipma', lambda b: b[:10] + bytes([b[10] + 1]) + b[11:] + bytes([count + 1]))
def move(body):
    # Version 0 or 1: offsets of the single extent of each item.
    assert body[0] < 2 and body[4] == 0x44, body[:8].hex()
    items, = struct.unpack_from('>H', body, 6)
    data, at = bytearray(body), 8
    for _ in range(items):
        at += (4 if body[0] == 1 else 2) + 2 + (body[5] >> 4)
        extents, = struct.unpack_from('>H', data, at)
        at += 2
        for _ in range(extents):
            struct.pack_into('>I', data, at, struct.unpack_from('>I', data, at)[0] + len(colr) + 1)
            at += 8
    return bytes(data)
def meta(body): return inside(inside(body, 4, b'iprp', properties), 4, b'iloc', move)
open('p3.heic', 'wb').write(inside(b, 0, b'meta', meta))
P
# Colours multiplied by the alpha, and marked so.
avifenc --premultiply --min 0 --max 0 --speed 8 alpha.png premultiplied.avif

# Sequences: three frames of 120, 300 and 300 ms; two with alpha. avifenc gives both an alpha channel.
avifenc --min 0 --max 0 --speed 8 --timescale 1000 --duration 120 rgb.png --duration 300 negative.png flopped.png \
    animated.avif
avifenc --min 0 --max 0 --minalpha 0 --maxalpha 0 --speed 8 --timescale 10 --duration 2 alpha.png opaque.png \
    animated-alpha.avif
rm negative.png flopped.png opaque.png

# The eight orientations: stored so that all are the same image when upright.
# (The inverse of an orientation's turn is applied before the tag is set.)
n=1
for turn in "" "-flop" "-rotate 180" "-flip" "-transpose" "-rotate 270" "-transverse" "-rotate 90"; do
    # shellcheck disable=SC2086
    convert rgb.png $turn -quality 92 -strip "orientation-$n.jpg"
    exiftool -q -overwrite_original -n -Orientation=$n "orientation-$n.jpg"
    n=$((n + 1))
done

# Metadata that must not survive: a place in EXIF and in XMP.
for name in gps.jpg gps.png gps.webp; do
    convert rgb.png -quality 90 "$name"
    exiftool -q -overwrite_original -GPSLatitude=52.5163 -GPSLatitudeRef=N -GPSLongitude=13.3777 -GPSLongitudeRef=E \
        -XMP:Location=Somewhere -Make=Camera "$name"
done

# Cut short, and headers that promise too much.
head -c $(($(stat -c %s plain.jpg) / 2)) plain.jpg > truncated.jpg
head -c $(($(stat -c %s rgb.png) / 2)) rgb.png > truncated.png
python3 - <<'P'
import struct, zlib
def chunk(name, data): return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
def png(path, width, height, depth, colour, interlace, rows, *extra):
    head = struct.pack('>IIBBBBB', width, height, depth, colour, 0, 0, interlace)
    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + b''.join(extra)
                   + chunk(b'IDAT', zlib.compress(rows, 9)) + chunk(b'IEND', b''))
# 20000 x 20000 pixels of which there are none.
png('bomb-edge.png', 20000, 20000, 8, 2, 0, b'')
# 10000 x 10000: within the edge, too many pixels.
png('bomb-pixels.png', 10000, 10000, 8, 2, 0, b'')
# 6100 x 6000, one bit each, interlaced: 110 MB once decoded, more than libvips keeps in memory by itself.
palette = chunk(b'PLTE', bytes([255, 255, 255, 0, 0, 128]))
def passes(width, height):
    for x0, y0, dx, dy in ((0,0,8,8),(4,0,8,8),(0,4,4,8),(2,0,4,4),(0,2,2,4),(1,0,2,2),(0,1,1,2)):
        w, h = (width - x0 + dx - 1) // dx, (height - y0 + dy - 1) // dy
        if w > 0 and h > 0: yield bytes(h * (1 + (w + 7) // 8))
png('interlaced-large.png', 6100, 6000, 1, 3, 1, b''.join(passes(6100, 6000)), palette)
# An animated PNG: the frames' control chunks around an ordinary image, then a second frame.
row = b'\x00' + b'\xff\x00\x00' * 8
control = lambda number: chunk(b'fcTL', struct.pack('>IIIIIHHBB', number, 8, 8, 0, 0, 1, 10, 0, 0))
png('animated.png', 8, 8, 8, 2, 0, row * 8, chunk(b'acTL', struct.pack('>II', 2, 0)), control(0))
with open('animated.png', 'rb') as file: bytes_ = file.read()
second = control(1) + chunk(b'fdAT', struct.pack('>I', 2) + zlib.compress((b'\x00' + b'\x00\x00\xff' * 8) * 8))
with open('animated.png', 'wb') as file: file.write(bytes_[:-12] + second + bytes_[-12:])
P
# A profile that is not sRGB: Adobe RGB's green primary and gamma 2.2, over one solid green.
python3 - <<'P'
import struct, zlib
def chunk(name, data): return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
fixed = lambda *values: b''.join(struct.pack('>i', round(value * 65536)) for value in values)
xyz = lambda *values: b'XYZ \0\0\0\0' + fixed(*values)
text = b'wide\0'
tags = {b'desc': b'desc\0\0\0\0' + struct.pack('>I', len(text)) + text + bytes(78), b'cprt': b'text\0\0\0\0none\0\0\0\0',
        b'wtpt': xyz(0.9642, 1, 0.8249), b'rXYZ': xyz(0.6097, 0.3111, 0.0195), b'gXYZ': xyz(0.2053, 0.6257, 0.0609),
        b'bXYZ': xyz(0.1492, 0.0632, 0.7446)}
for name in (b'rTRC', b'gTRC', b'bTRC'): tags[name] = b'curv\0\0\0\0' + struct.pack('>IH', 1, round(2.2 * 256)) + b'\0\0'
table, body, offset = struct.pack('>I', len(tags)), b'', 132 + 12 * len(tags)
for name, data in tags.items():
    data += bytes(-len(data) % 4)
    table += name + struct.pack('>II', offset + len(body), len(data))
    body += data
size = 128 + len(table) + len(body)
head = struct.pack('>I4sI4s4s4s', size, b'none', 0x02100000, b'mntr', b'RGB ', b'XYZ ') + bytes(12) + b'acsp'
head += bytes(68 - len(head)) + fixed(0.9642, 1, 0.8249)
profile = head + bytes(128 - len(head)) + table + body
with open('wide.png', 'wb') as file:
    file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 2, 0, 0, 0))
               + chunk(b'iCCP', b'wide\0\0' + zlib.compress(profile)) + chunk(b'IDAT', zlib.compress((b'\0' + bytes([100, 200, 100]) * 8) * 8))
               + chunk(b'IEND', b''))
with open('wide.icc', 'wb') as file: file.write(profile)
P
# Those that are read on request.
vips tiffsave rgb.png tmp.tif --compression deflate && mv tmp.tif still.tiff
vips rot rgb.png tmp.v d270 && vips tiffsave tmp.v tmp.tif --compression deflate && rm tmp.v && mv tmp.tif orientation-6.tiff
exiftool -q -overwrite_original -n -Orientation=6 orientation-6.tiff
vips jxlsave rgb.png still.jxl --lossless
cat > still.svg <<'P'
<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60">
  <linearGradient id="g" x2="0" y2="1"><stop stop-color="white"/><stop offset="1" stop-color="navy"/></linearGradient>
  <rect width="80" height="60" fill="url(#g)"/>
  <rect width="20" height="15" fill="red"/>
</svg>
P
# Two pages, the second of another size.
python3 - <<'P'
bands = b''.join(b'%.3f %.3f %.3f rg 0 %d 80 1 re f\n' % (y / 59, y / 59, .5 + y / 118, y) for y in range(60))
content = bands + b'1 0 0 rg 0 45 20 15 re f'
objects = [b'<</Type/Catalog/Pages 2 0 R>>', b'<</Type/Pages/Kids[3 0 R 5 0 R]/Count 2>>',
           b'<</Type/Page/Parent 2 0 R/MediaBox[0 0 80 60]/Contents 4 0 R>>',
           b'<</Length %d>>stream\n%s\nendstream' % (len(content), content),
           b'<</Type/Page/Parent 2 0 R/MediaBox[0 0 10 10]>>']
file, places = b'%PDF-1.4\n', []
for number, text in enumerate(objects, 1):
    places.append(len(file))
    file += b'%d 0 obj\n%s\nendobj\n' % (number, text)
table = b'xref\n0 %d\n0000000000 65535 f \n' % (len(objects) + 1) + b''.join(b'%010d 00000 n \n' % place for place in places)
end = b'trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n' % (len(objects) + 1, len(file))
with open('still.pdf', 'wb') as out: out.write(file + table + end)
P
