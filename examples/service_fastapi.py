"""The same service with FastAPI: uvicorn --app-dir examples service_fastapi:app"""

import threading

import fastapi

import lance_sql

app = fastapi.FastAPI()
connection = lance_sql.connect()
connection.execute("SET memory_limit = '4GB'; SET threads = 4")


@app.get("/orders")
def orders(status: str, seconds: float = 30.0) -> list[dict[str, object]]:
    with connection.cursor() as cursor:  # FastAPI calls a plain function in a thread of its pool
        clock = threading.Timer(seconds, cursor.interrupt)
        clock.start()
        try:
            text = "SELECT id, status FROM 'examples/orders.lance' WHERE status = ? ORDER BY id"
            found: list[dict[str, object]] = cursor.sql(text, params=[status]).to_arrow_table().to_pylist()
        finally:
            clock.cancel()
    return found


@app.get("/health")
def health() -> dict[str, int]:
    return {"version": lance_sql.open("examples/orders.lance").version}
