#!/usr/bin/env python3
"""Reads a Parquet file of `kernelwright data export` with pyarrow and compares it, row by row, with the JSON lines of the same store.

    kernelwright data export STORE --style chatml --format parquet --out store.parquet
    kernelwright data export STORE --style chatml --out store.jsonl
    scripts/check_parquet.py store.parquet store.jsonl

Needs pyarrow (pip install pyarrow), which is no dependency of the project."""

import json
import sys

import pyarrow.parquet


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    file = pyarrow.parquet.ParquetFile(sys.argv[1])
    names = file.schema_arrow.names
    row = -1
    with open(sys.argv[2], encoding="utf-8") as lines:
        for group in range(file.num_row_groups):
            for found in file.read_row_group(group).to_pylist():
                row += 1
                line = json.loads(next(lines))
                for name in names:
                    wanted = line.get(name)
                    held = found[name]
                    if isinstance(wanted, (dict, list)):  # nested values are JSON text in the table
                        held = json.loads(held)
                    if held != wanted:
                        sys.exit(f"row {row}, column {name}: {held!r} is not {wanted!r}")
        if next(lines, None) is not None:
            sys.exit(f"the table ends after {row + 1} rows")
    print(f"{row + 1} rows in {file.num_row_groups} row groups, {len(names)} columns: the same as the JSON lines")


if __name__ == "__main__":
    main()
