"""Composed variables and groups equal those of ansible-core for all expressions, values and options."""

from __future__ import annotations

import itertools
from typing import Any

import jinja2.environment
import jinja2.parser
import pytest
from ansible.errors import AnsibleError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.plugins.loader import inventory_loader
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import VirtinfraError
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.hostvars import ServiceName
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.reading import ServiceData
from ansible_collections.virtinfra.manager.plugins.plugin_utils._jinja import compose as _constructed
from ansible_collections.virtinfra.manager.plugins.plugin_utils._jinja.expressions import (
    Expression,
    create_evaluator,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.examples import count_examples
from support.inventory_sources import Reference, shape, trust

HOSTILE = "{{ lookup('pipe', 'echo executed') }}"
SCALARS = st.one_of(
    st.sampled_from(
        [
            *("", "a", "Enabled", "True", "false", "None", "[1, 2]", "{'a': 1}", "x y", "a-b.c", "5", "1.5", " trim "),
            *("Jan 6, 2017 3:51:16 AM", "2017", "10.0.0.1", "YQ==", "5 KB", "a/b.c", "1.10.0", "yes"),
            *(HOSTILE, "{% raw %}", "#jinja2: variable_start_string:'[['", "é\n", "/etc", "\\n", "omit", "all"),
        ]
    ),
    st.text(max_size=8),
    st.integers(-5, 5),
    st.sampled_from([0.0, 1.0, 2.5, 10**20, True, False, None]),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["name", "a", "items", "Enabled"]), SCALARS, max_size=2),
)
FIELDS = ("name", "state", "status", "cpuNum", "description", "clusterUuid", "extraMember")
NAMES = [f"virtinfra_{name}" for name in ("name", "state", "status", "cpu_num", "description", "cluster_uuid")]
ODD_NAMES = ["virtinfra_extra_member", "first", "second", "site", "nowhere", "omit", "range", "inventory_hostname"]
ODD_NAMES += ["inventory_hostname_short", "group_names", "inventory_file", "inventory_dir", "hostvars", "loop"]


def _binary(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = ["==", "!=", "<", ">=", "in", "not in", "and", "or", "~", "+", "-", "*", "//", "%", "/", "**"]
    return st.tuples(parts, st.sampled_from(operators), parts).map(" ".join).map("({})".format)


FILTERS = [
    *("lower", "upper", "title", "capitalize", "trim", "length", "int", "float", "string", "abs", "first", "last"),
    *("default('x')", "default('', true)", "join('-')", "replace('a', 'b')", "int(3)", "list", "bool", "sort"),
    *("ternary(1, 2)", "split('-')", "regex_replace('a', 'b')", "count", "d(virtinfra_name)", "reject('none')"),
    *(
        "round",
        "round(1)",
        "round(0, 'floor')",
        "round(method='ceil')",
        "split",
        "ansible.builtin.split(virtinfra_state)",
    ),
    *("regex_search('[a-z]')", "regex_search('(a)(.)', '\\\\1')", "regex_findall('a|(b)')", "regex_escape", "quote"),
    *("regex_replace('^(.)', '\\1\\1')", "regex_replace('A', virtinfra_state, ignorecase=true)", "hash('md5')"),
    *("b64encode", "b64decode", "to_uuid", "md5", "sha1", "basename", "splitext", "urlsplit('path')", "urldecode"),
    *("pow(2)", "root", "log(2)", "human_readable", "human_to_bytes", "to_datetime('%Y')", "to_datetime", "list"),
    *("virtinfra.manager.to_datetime", "virtinfra.manager.escape_controls", "map('upper')", "unique", "min", "sum"),
    *("to_json", "from_json", "type_debug", "to_yaml", "dict2items", "random(seed=1)", "combine({'x': 1})", "reverse"),
    *("join(attribute='name')", "select", "map(attribute='name') | list", "zip(['x']) | list", "mandatory", "nowhere"),
]


def _filtered(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(parts, st.sampled_from(FILTERS)).map(" | ".join).map("({})".format)


TESTS = [
    *("defined", "none", "string", "number", "undefined", "not none", "mapping", "match('a')", "sameas true"),
    *("search('.a')", "regex('A', ignorecase=true)", "ansible.builtin.match('\\\\w')", "match(virtinfra_state)"),
    *("contains('a')", "version('1.5', '>=')", "version(1, 'lt')", "in ['a', 5, none]", "in virtinfra_extra_member"),
    *("eq 5", "ne 'a'", "gt 1", "le 2.5", "even", "odd", "integer", "float", "boolean", "divisibleby 2", "iterable"),
    *("virtinfra.manager.remote_address", "sequence", "true", "truthy", "subset(['a'])", "exists", "not match('a')"),
]


def _tested(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(parts, st.sampled_from(TESTS)).map(" is ".join).map("({})".format)


def _accessed(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    ends = [
        ".name",
        ".a",
        ".items",
        ".upper()",
        ".split('-')",
        ".split('-')[0]",
        "[0]",
        "[-1]",
        "['name']",
        "['items']",
    ]
    ends += ["[:4]", "[-2:]", "[::-1]", "[:virtinfra_cpu_num]", "[1:][0]", ".rsplit('-', 1)", ".zfill(4)", ".year"]
    ends += [".partition('-')", ".isdigit()", ".strftime('%m')", ".get('a')", ".splitlines()", ".title"]
    ends += ["[1:]", ".startswith('a')", ".strip()", ".__class__", ".replace('a', 'b', 1)", ".count('a')", ".format(1)"]
    return st.tuples(parts, st.sampled_from(ends)).map("".join)


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _binary(parts),
        _filtered(parts),
        _tested(parts),
        _accessed(parts),
        parts.map("not {}".format).map("({})".format),
        parts.map("-{}".format).map("({})".format),
        st.tuples(parts, parts, parts).map(lambda three: "({} if {} else {})".format(*three)),
        st.tuples(parts, parts).map(lambda two: "({} if {})".format(*two)),
        st.lists(parts, max_size=3).map(lambda many: f"[{', '.join(many)}]"),
        st.lists(parts, min_size=2, max_size=3).map(lambda many: f"({', '.join(many)})"),
    )


LEAVES = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(ODD_NAMES),
    st.sampled_from(
        ["'a'", '"Enabled"', "'-'", "''", "1", "2.5", "0", "true", "false", "none", "'[1]'", "'True'", "'5'"]
    ),
    st.sampled_from([r"'a\nb'", "'{{ virtinfra_name }}'", "'{'", "lookup('env', 'NOWHERE')"]),
)
EXPRESSIONS = st.one_of(
    st.sampled_from(NAMES),
    st.recursive(LEAVES, _larger, max_leaves=5),
    st.sampled_from([*("", " ", "nonsense(", "a b", "{{ virtinfra_name }}", "virtinfra_name }}{{ virtinfra_state")]),
    st.sampled_from(["'{{ virtinfra_name }}'", "{'a': virtinfra_name}", "virtinfra_name\n", "'executed'"]),
)
OTHERS = st.sampled_from([True, False, None, 1, ["virtinfra_name"]])
KEYED = st.fixed_dictionaries(
    {"key": EXPRESSIONS},
    optional={
        "prefix": st.sampled_from(["", "p", "p q", "ä"]),
        "separator": st.sampled_from(["", "_", "-", "__"]),
        "parent_group": st.sampled_from(["parent", "a parent", "{{ virtinfra_state }}", "{{ nowhere }}", "", "all"]),
        "default_value": st.sampled_from(["none", "no value", ""]),
        "trailing_separator": st.booleans(),
    },
)
OPTIONS = st.fixed_dictionaries(
    {
        "compose": st.dictionaries(
            st.sampled_from(["first", "second", "ansible_host", "virtinfra_state"]), EXPRESSIONS | OTHERS, max_size=3
        ),
        "groups": st.dictionaries(
            st.sampled_from(["g", "a group", "first", "parent"]), EXPRESSIONS | OTHERS, max_size=2
        ),
        "keyed_groups": st.lists(KEYED | st.sampled_from(["x", {}, None]), max_size=2),
        "strict": st.booleans(),
        "leading_separator": st.booleans(),
        "use_extra_vars": st.booleans(),
    }
)
EXTRA = st.dictionaries(
    st.sampled_from(["site", "virtinfra_name", "first", "inventory_hostname"]),
    st.sampled_from(["s", 5, "{{ 'made' ~ 'of' }}", "{{ virtinfra_state }}"]),
    max_size=2,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6), min_size=1, max_size=3)

NOTHING: dict[str, Any] = {"compose": {}, "groups": {}, "keyed_groups": []}


def fill_by_us(options: dict[str, Any], extra: dict[str, Any], records: list[dict[str, Any]]) -> InventoryData:
    """Return the inventory that our plugin creates from records."""
    inventory = InventoryData()
    plugin = inventory_loader.get("virtinfra.manager.hosts")
    BaseInventoryPlugin.parse(plugin, inventory, DataLoader(), "source")
    plugin.set_options(direct={"plugin": "virtinfra.manager.hosts", **options, "hostnames": ["uuid"]})
    plugin._vars = extra
    hostvars = plugin.create_hostvars(plugin.RESOURCE_TYPE, plugin.ADDED)
    data = ServiceData(ServiceName("service", "https://manager/service"), None)
    entries = [*map(plugin.create_entry_factory(hostvars, data), records)]
    plugin._add_hosts(plugin._complete_entries(entries, hostvars, [data]))
    return inventory


def fill_by_core(options: dict[str, Any], extra: dict[str, Any], records: list[dict[str, Any]]) -> InventoryData:
    """Return the inventory that ansible-core creates from hosts with the variables of our plugin."""
    hosts = {name: host.vars for name, host in fill_by_us({**options, **NOTHING}, extra, records).hosts.items()}
    inventory = InventoryData()
    Reference(options).fill(inventory, extra, hosts)
    return inventory


def fill_by_both(options: dict[str, Any], extra: dict[str, Any], records: list[dict[str, Any]]) -> list[Any]:
    """Return the shapes of the inventories of ansible-core and our plugin, None for a failure."""
    options, extra = trust(options), trust(extra)
    # Zeros would be an address of this machine, which is refused as a name of a host, so that nothing is compared.
    records = [{**record, "uuid": f"a{number:031x}"} for number, record in enumerate(records)]
    shapes: list[Any] = []
    for fill in (fill_by_core, fill_by_us):
        try:
            shapes.append(shape(fill(options, extra, records)))
        except (AnsibleError, VirtinfraError, TypeError):
            # Core raises a TypeError for a parent group whose name is a list.
            shapes.append(None)
        except Exception as error:
            # Core raises a bare Exception for a group that is its own parent; the plugin has a message of its own.
            if str(error) != "can't add group to itself":
                raise
            shapes.append(None)
    return shapes


@settings(max_examples=count_examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(options=OPTIONS, extra=EXTRA, records=RECORDS)
def test_everything_equals_the_result_of_core(
    options: dict[str, Any], extra: dict[str, Any], records: list[dict[str, Any]]
) -> None:
    theirs, ours = fill_by_both(options, extra, records)
    assert ours == theirs


def one(**options: Any) -> dict[str, Any]:
    """Return options with a neutral default for all others."""
    return {**NOTHING, "strict": False, "leading_separator": True, "use_extra_vars": False, **options}


@settings(max_examples=count_examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(expression=EXPRESSIONS, records=RECORDS, strict=st.booleans())
def test_every_expression_has_the_result_of_core(expression: str, records: list[dict[str, Any]], strict: bool) -> None:
    options = one(
        compose={"value": expression}, groups={"held": expression}, keyed_groups=[{"key": expression}], strict=strict
    )
    theirs, ours = fill_by_both(options, {}, records)
    assert ours == theirs


# Options whose results differ between versions of core, or that are rarely combined.
CORNERS: list[dict[str, Any]] = [
    {"compose": {"value": r"virtinfra_name ~ 'a\nb'"}},
    {"compose": {"value": "virtinfra_name ~ '\n'"}},
    {"compose": {"value": "virtinfra_extra_member.append('x')", "other": "virtinfra_extra_member.pop()"}},
    {"compose": {"value": "virtinfra_name.format(1)", "other": "virtinfra_name.join(['a', 'b'])"}},
    {"compose": {"value": "[virtinfra_name]", "other": "(virtinfra_name, 1)"}},
    {"compose": {"virtinfra_name": "virtinfra_state", "other": "virtinfra_name"}},
    {"compose": {"first": "'{{ virtinfra_name }}'"}, "groups": {"g": "first == virtinfra_name"}},
    {"compose": {"first": "'{{ virtinfra_name }}'"}, "keyed_groups": [{"key": "first"}]},
    {"compose": {"first": "virtinfra_name"}, "groups": {"g": "first is defined"}, "keyed_groups": [{"key": "first"}]},
    {"compose": {"first": "nowhere"}, "groups": {"g": "first is defined"}, "keyed_groups": [{"key": "first"}]},
    {"compose": {"virtinfra_extra_member": "{'a': virtinfra_name}"}},
    {"groups": {"g": "virtinfra_name == '{{ virtinfra_name }}'", "h": "virtinfra_name", "i": "virtinfra_cpu_num"}},
    {"groups": {"g": True, "h": "true", "i": "", "j": "'x'"}, "keyed_groups": [{"key": "group_names | join('-')"}]},
    {"groups": {"a group": "true"}, "keyed_groups": [{"key": "group_names"}, {"key": "group_names | length"}]},
    {"keyed_groups": [{"key": "'k'", "parent_group": "all"}, {"key": "group_names | join('-')"}]},
    {"keyed_groups": [{"key": "'k'", "parent_group": "{{ virtinfra_state }}"}, {"key": "group_names | join('-')"}]},
    {"keyed_groups": [{"key": "virtinfra_description", "default_value": "none"}]},
    {"keyed_groups": [{"key": "virtinfra_description", "trailing_separator": False, "prefix": "p"}]},
    {"keyed_groups": [{"key": "virtinfra_description", "trailing_separator": False, "default_value": "x"}]},
    {"keyed_groups": [{"key": "virtinfra_extra_member", "prefix": "p", "parent_group": "a parent"}]},
    {"keyed_groups": [{"key": "{'a': virtinfra_name, 'b': ''}", "separator": "-"}], "leading_separator": False},
    {"keyed_groups": [{"key": "virtinfra_name", "separator": "-"}], "leading_separator": False},
    {"keyed_groups": [{"key": "virtinfra_name", "prefix": None, "separator": None}]},
    {"keyed_groups": [{"key": "virtinfra_cpu_num"}]},
    {"keyed_groups": [{}, {"prefix": "p"}]},
    {"compose": {"value": "-(virtinfra_name if 'a'.name)", "other": "virtinfra_name ~ ('a'.name ~ 'b')"}},
    {"groups": {"g": "virtinfra_name in [1 // 0]", "h": "virtinfra_name == 'a' or 1 / 0"}},
    {"groups": {test: f"virtinfra_extra_member is {test}" for test in ("none", "string", "number", "defined")}},
    {"groups": {f"g{number}": f"virtinfra_extra_member is {name}" for number, name in enumerate(TESTS)}},
    {"groups": {f"g{number}": f"virtinfra_name is {name}" for number, name in enumerate(TESTS)}},
    {"compose": {f"v{number}": f"virtinfra_name | {name}" for number, name in enumerate(FILTERS)}},
    {"compose": {"value": r"virtinfra_name | regex_replace('\w', 'x\n')", "other": r"virtinfra_name ~ '\x41\\'"}},
    {"groups": {"g": r"virtinfra_name is match('\w')", "h": r"virtinfra_name is match('\\w')"}},
    {"groups": {test: f"virtinfra_extra_member is not {test}" for test in ("none", "string", "number", "defined")}},
    {"compose": {"value": "virtinfra_extra_member.a is none", "other": "virtinfra_extra_member[5] is defined"}},
    {"compose": {f"v{number}": f"virtinfra_extra_member | {name}" for number, name in enumerate(FILTERS)}},
    {"keyed_groups": [{"key": "inventory_hostname_short"}, {"key": "inventory_hostname", "prefix": "n"}]},
    {"use_extra_vars": True, "compose": {"value": "virtinfra_name", "other": "site"}},
    {"use_extra_vars": True, "groups": {"g": "virtinfra_name == 's'"}, "keyed_groups": [{"key": "virtinfra_name"}]},
    {"use_extra_vars": True, "compose": {"virtinfra_state": "'x'"}, "keyed_groups": [{"key": "site"}]},
    {"use_extra_vars": True, "compose": {"value": "place"}, "keyed_groups": [{"key": "place"}]},
]
SITE = {"virtinfra_name": "s", "site": "{{ virtinfra_state }}", "place": "{{ inventory_hostname }}"}
SOME: list[dict[str, Any]] = [
    {"name": "a", "state": "Enabled", "cpuNum": 4, "description": "", "extraMember": ["a", "b"]},
    {"name": "True", "state": "a", "cpuNum": 0, "description": None, "extraMember": {"a": 1}},
    {"name": "[1]", "state": None, "description": "x y", "extraMember": ["", None, 1]},
    {"name": "{{ virtinfra_state }}", "state": "Enabled", "description": 5, "extraMember": []},
]
OTHER: dict[str, Any] = {"name": "other"}


def test_edge_cases_equal_the_results_of_core(subtests: pytest.Subtests) -> None:
    for options, strict in itertools.product(CORNERS, [False, True]):
        selected = one(**{**options, "strict": strict})
        theirs, ours = fill_by_both(selected, SITE, [*SOME, OTHER])
        with subtests.test(f"{options} {strict}"):
            assert ours == theirs
        # The failure of one record hides the results of the others.
        for record in SOME if theirs is None else ():
            with subtests.test(f"{options} {record} {strict}"):
                theirs, ours = fill_by_both(selected, SITE, [record, OTHER])
                assert ours == theirs


HARMLESS = [
    "virtinfra_name",
    "virtinfra_cpu_num",
    "virtinfra_architecture",
    "virtinfra_cpu_num // 2",
    "virtinfra_name ~ '.example.com'",
    "virtinfra_name | upper",
    "virtinfra_name.split('-')[0]",
    "'root' if virtinfra_state == 'Enabled' else 'nobody'",
    "virtinfra_state in ['Enabled', 'Disabled']",
    "virtinfra_cpu_num >= 4 and not virtinfra_name.startswith('spare')",
    "virtinfra_architecture is defined",
    "virtinfra_description | default('none', true)",
    "(virtinfra_cpu_num / 3) | round(1)",
    "virtinfra_name | regex_replace('-\\\\d+$', '')",
    "virtinfra_name is match('host')",
    "virtinfra_name[:4]",
    "virtinfra_name | split('-') | first",
    "virtinfra_cpu_num is version('1.0', '>=')",
    "virtinfra_state | ternary('on', 'off')",
    "virtinfra_create_date | virtinfra.manager.to_datetime < '2020'",
    "'constant'",
]


@pytest.mark.parametrize("expression", HARMLESS)
def test_supported_expressions_are_not_passed_to_core(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Any] = []

    def create_recording_evaluator(plugin: Any) -> Any:
        evaluate = create_evaluator(plugin)

        def record_expression(expression: Expression, variables: dict[str, Any]) -> Any:
            evaluated.append(expression.source)
            return evaluate(expression, variables)

        return record_expression

    monkeypatch.setattr(_constructed, "create_evaluator", create_recording_evaluator)
    names = [f"host-{number}" for number in range(50)]
    records = [
        {
            "uuid": name,
            "name": name,
            "cpuNum": 8,
            "state": "Enabled",
            "architecture": "x86_64",
            "createDate": "Jan 6, 2017 3:51:16 AM",
        }
        for name in names
    ]
    inventory = fill_by_us(trust(one(compose={"value": expression})), {}, records)
    assert all("value" in host.vars for host in inventory.hosts.values())
    assert len(evaluated) <= 1, "only what is constant may be left to core, once"


COMPILED = [
    "[virtinfra_name] | map('upper') | list",
    "{'name': virtinfra_name}",
    "virtinfra_extra_member | default('none')",
    "virtinfra_name | nowhere",
    "{{ virtinfra_name }}",
    "virtinfra_name |",
]


@pytest.mark.parametrize("expression", COMPILED)
@pytest.mark.parametrize("option", ["compose", "groups"])
def test_core_compiles_each_expression_once(option: str, expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []

    class NotingParser(jinja2.parser.Parser):
        """A parser that notes what it parses."""

        def __init__(self, environment: Any, source: str, *args: Any, **options: Any) -> None:
            compiled.append(source)
            super().__init__(environment, source, *args, **options)

    monkeypatch.setattr(jinja2.environment, "Parser", NotingParser)
    records = [{"uuid": f"host-{number}", "name": "x"} for number in range(50)]
    fill_by_us(trust(one(**{option: {"value": expression}})), {}, records)
    assert len(compiled) < 10


def test_a_random_value_differs_between_hosts() -> None:
    records = [{"uuid": f"host-{number}"} for number in range(50)]
    inventory = fill_by_us(trust(one(compose={"value": "1000000 | random"})), {}, records)
    assert len({host.vars["value"] for host in inventory.hosts.values()}) > 1
