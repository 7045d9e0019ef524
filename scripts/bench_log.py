"""Time and memory of reading logs of clicks, beside pandas on the same file.

    python scripts/bench_log.py 1000000 10000000 [--folder DIR]

Makes a log of so many rows in CSV and in Parquet, reads each in a process of its own, and prints
seconds of CPU, rows a second, the most memory that the process held, and the ratio to pandas. That
reads the file whole, drops rows that stand there twice, reads the dates and counts clicks by rank:
a part of what `open_log` does.
"""

import sys
from pathlib import Path

import numpy as np
from harness import parser, spent

COLUMNS = ("time", "session", "query", "doc_id", "rank", "clicked")
BLOCK = 1_000_000


def blocks(rows: int):
    """The rows of a log, a block of them at a time as a DataFrame: ten results a search."""
    import pandas as pd

    rng = np.random.default_rng(0)
    for start in range(0, rows, BLOCK):
        number = np.arange(start, min(start + BLOCK, rows))
        search = number // 10
        query = (rng.zipf(1.3, search[-1] - search[0] + 1) % 300_000)[search - search[0]]
        at = pd.to_datetime(1_714_521_600_000 + search * 2500, unit="ms")
        yield pd.DataFrame(
            {
                "time": at.strftime("%Y-%m-%dT%H:%M:%S.%f").str[:-3] + "Z",
                "session": "session-" + pd.Series(search // 3).astype(str),
                "query": "query number " + pd.Series(query).astype(str),
                "doc_id": "d" + pd.Series((query * 7 + number % 10) % 1_000_003).astype(str),
                "rank": number % 10 + 1,
                "clicked": (rng.random(len(number)) < 0.3 / (number % 10 + 1)).astype(int),
            }
        )


def make(folder: Path, rows: int) -> list[Path]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, parquet = folder / f"log-{rows}.csv", folder / f"log-{rows}.parquet"
    writer = None
    with table.open("w") as out:
        for number, frame in enumerate(blocks(rows)):
            frame.to_csv(out, index=False, header=not number)
            batch = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(parquet, batch.schema)
            writer.write_table(batch)
    writer.close()
    return [table, parquet]


def ours(path: Path) -> str:
    from labeler.monitoring.log import open_log

    with open_log(path) as log:
        reading = log.reading
        return f"{reading.retained:,} rows kept, {reading.searches:,} searches"


def pandas(path: Path) -> str:
    import pandas as pd

    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    frame["time"] = pd.to_datetime(frame["time"], format="ISO8601")
    frame = frame.drop_duplicates()
    by_rank = frame.groupby("rank")["clicked"].mean()
    return f"{len(frame):,} rows kept, {len(by_rank)} ranks"


READERS = {"labeler": ours, "pandas": pandas}


def main() -> None:
    options = parser(__doc__, folder=Path("/tmp"))
    options.add_argument("rows", nargs="*", type=int)
    options.add_argument("--read", nargs=2)
    args = options.parse_args()
    if args.read:
        print(READERS[args.read[0]](Path(args.read[1])))
        return
    print("rows        file     reader   CPU s   rows/s     MB   CPU beside pandas")
    for rows in args.rows:
        for path in make(args.folder, rows):
            command = [sys.executable, __file__, "--read"]
            took = {name: spent([*command, name, path]) for name in READERS}
            for name, (cpu, _, size, said) in took.items():
                ratio = cpu / took["pandas"].cpu
                line = f"{rows:<11,} {path.suffix[1:]:8} {name:8} {cpu:5.1f} {rows / cpu:9,.0f}"
                print(f"{line} {size:6,.0f}   {ratio:.2f}   {said.strip()}", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
