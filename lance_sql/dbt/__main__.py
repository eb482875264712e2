"""`python -m lance_sql.dbt` prints the folder of the dbt package, for packages.yml."""

from lance_sql.dbt import PACKAGE

print(PACKAGE)
