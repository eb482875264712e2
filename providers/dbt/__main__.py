"""`python -m lance_sql.providers.dbt` prints the folder of the dbt package, for packages.yml."""

from lance_sql.providers.dbt import PACKAGE

print(PACKAGE)
