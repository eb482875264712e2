# The command line of lance-sql, with DuckDB. docs/start.md says how to build and use it.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++
COPY CMakeLists.txt LICENSE README.md pyproject.toml /src/
COPY kernels /src/kernels
COPY lance_sql /src/lance_sql
COPY providers /src/providers
COPY scripts/duckdb_extension_footer.py /src/scripts/
COPY pyspark_lance /src/pyspark_lance
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/lance_sql-*.whl)[duckdb]" && rm -r /wheels
WORKDIR /data
ENTRYPOINT ["lance-sql"]
