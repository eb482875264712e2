{#- Whether the table of a model exists, so that the model may select new rows alone. dbt's own is false in these models. -#}
{% macro is_incremental() %}
  {%- if not execute -%}
    {{ return(False) }}
  {%- endif -%}
  {%- set relation = load_cached_relation(this) -%}
  {{ return(relation is not none and relation.type == "view" and model.config.materialized == "lance"
            and not should_full_refresh()) }}
{% endmacro %}

{#- The rows of a model become a version of a Lance table, and the model a view of the table's newest version. -#}
{% materialization lance, adapter="duckdb", supported_languages=["sql"] %}
  {%- set target_relation = this.incorporate(type="view") -%}
  {%- if "macro.dbt.is_incremental" in model.depends_on.macros -%}
    {{ exceptions.raise_compiler_error("is_incremental() is always false with materialized='lance': write"
                                       " lance_sql.is_incremental()") }}
  {%- endif -%}
  {#- without a view of an earlier run, a model that asks has selected all of its rows -#}
  {%- set asks = "macro.lance_sql.is_incremental" in model.depends_on.macros -%}
  {%- set is_whole = should_full_refresh() or (asks and not lance_sql.is_incremental()) -%}
  {%- set rows = make_intermediate_relation(this.incorporate(type="table"), suffix="__lance_rows") -%}
  {%- set old = load_cached_relation(this) -%}
  {%- set location = config.get("location", default=adapter.external_root() ~ "/" ~ this.identifier ~ ".lance") -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {{ drop_relation_if_exists(rows) }}
  {% call statement("main") -%}
    {{ create_table_as(False, rows, sql) }}
  {%- endcall %}
  {{ adapter.commit() }}

  {#- `flags` has no SAMPLE -#}
  {%- set sample = invocation_args_dict.sample or invocation_args_dict.SAMPLE -%}
  {%- set is_partial = true if flags.EMPTY or sample else false -%}
  {%- set run = {"config": config, "id": model.unique_id, "sql": sql, "graph": graph,
                 "selected": selected_resources, "is_partial": is_partial, "asks": asks,
                 "is_whole": is_whole} -%}
  {% do store_relation(config.get("plugin", default="lance"), rows, location, "lance", run) %}

  {% if old is not none and old.type != "view" %}
    {{ drop_relation_if_exists(old) }}
  {% endif %}
  {% call statement("view", auto_begin=True) -%}
    create or replace view {{ target_relation }} as select * from lance_table('{{ location | replace("'", "''") }}')
  {%- endcall %}
  {{ drop_relation_if_exists(rows) }}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({"relations": [target_relation]}) }}
{% endmaterialization %}
