"""draw.py TRACE PAGE DIRECTORY: draws all pictures of docs/ into DIRECTORY.
TRACE is the program that trace.c makes, PAGE is docs/performance.md, whose
tables have the figures of the chart."""

import pathlib
import subprocess
import sys

import failure
import request
import speed
import timeline


def main(trace, page, directory):
    said = subprocess.run([trace], check=True, capture_output=True, text=True)
    page = pathlib.Path(page).read_text(encoding='utf-8')
    directory = pathlib.Path(directory)

    pictures = {name: timeline.timeline(name, run) for name, run
                in timeline.read(said.stdout.splitlines()).items()}
    pictures['request'] = request.draw()
    pictures['failure'] = failure.draw()
    pictures['speed'] = speed.draw(speed.read(page))

    for name, picture in pictures.items():
        path = directory / f'{name}.svg'
        path.write_text(picture, encoding='utf-8')
        print(path)


if __name__ == '__main__':
    main(*sys.argv[1:])
