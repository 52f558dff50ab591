"""draw.py TRACE DOCS DIRECTORY: draws all pictures of docs/ into DIRECTORY.
TRACE is the program that trace.c makes. The tables of the pages in DOCS have
the figures of the charts."""

import pathlib
import subprocess
import sys

import accuracy
import failure
import request
import speed
import timeline


def main(trace, docs, directory):
    said = subprocess.run([trace], check=True, capture_output=True, text=True)
    speeds, algorithms = ((pathlib.Path(docs) / page).read_text('utf-8')
                          for page in ('performance.md', 'algorithms.md'))
    directory = pathlib.Path(directory)

    pictures = {name: timeline.timeline(name, run) for name, run
                in timeline.read(said.stdout.splitlines()).items()}
    pictures['request'] = request.draw()
    pictures['failure'] = failure.draw()
    pictures['speed'] = speed.draw(speed.read(speeds))
    pictures['accuracy'] = accuracy.draw(*accuracy.read(algorithms))

    for name, picture in pictures.items():
        path = directory / f'{name}.svg'
        path.write_text(picture, encoding='utf-8')
        print(path)


if __name__ == '__main__':
    main(*sys.argv[1:])
