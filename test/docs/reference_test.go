package docs

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/cluster/natsbus"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/replica"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/test/rig"
)

var update = flag.Bool("update", false, "write the reference pages in docs/operators")

// checkReference compares the part of a page of docs/operators from its first
// table or second heading on with the wanted text, or writes it.
func checkReference(t *testing.T, name, from, reference string) {
	t.Helper()
	file := filepath.Join(rig.Repository, "docs", "operators", name)
	page := strings.ReplaceAll(rig.ReadFile(t, file), "\r\n", "\n")
	head, _, found := strings.Cut(page, from)
	if !found {
		t.Fatalf("%s has no line %q", name, from)
	}
	want := head + reference
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, want); diff != "" {
		t.Errorf("%s, -is +should be (go test ./test/docs -run Reference -update writes it):\n%s", name, diff)
	}
}

func TestReferenceOfCommands(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| command | what it does | flags |\n|---|---|---|\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.Hidden {
			return
		}
		if !c.HasSubCommands() {
			var flags []string
			for _, m := range flagUsage.FindAllStringSubmatch(c.LocalFlags().FlagUsages(), -1) {
				flags = append(flags, "`"+m[1]+"`: "+m[2])
			}
			use, _ := strings.CutSuffix(c.UseLine(), " [flags]")
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(use), cell(c.Short), cell(strings.Join(flags, "; ")))
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(commands.Root(cli.New(nil, nil, nil, nil)))
	checkReference(t, "commands.md", "| command |", b.String())
}

// flagUsage is a flag without a short form, as cobra's help shows it.
var flagUsage = regexp.MustCompile(`(?m)^ +(--[a-z-]+)(?: [a-zA-Z0-9]+)? {2,}(.*)$`)

// cell makes text fit for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// metricDesc parses the printed form of a description of client_golang.
var metricDesc = regexp.MustCompile(`fqName: "([^"]*)", help: "(.*)", unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}`)

// described is a metric of /metrics.
type described struct {
	kind   string // of Prometheus
	help   string
	labels []string
}

// describedMetrics returns the metrics of a daemon with all services, by name. Those
// of the Go runtime and the process have no labels and no help.
func describedMetrics(t *testing.T) map[string]described {
	t.Helper()
	cfg, _, err := services.Load(configs.Options{Env: append(rig.TestEnv(t.TempDir()), "RESPAWND_DNS_ENABLED=true", "RESPAWND_LAN_DISCOVER=true", rig.Variable("snapshot.dir", t.TempDir()),
		`RESPAWND_WEBHOOKS=[{name: a, url: "http://example.org", secret: "0123456789abcdef"}]`)})
	if err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Open(t.Context(), daemon.Options{Config: cfg, Log: zerolog.Nop(), Tail: logtail.New(10)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	bus, err := natsbus.Open(t.Context(), natsbus.Options{Name: "test", Node: "n1", Listen: "127.0.0.1:0", Log: zerolog.Nop(), Registerer: d.Metrics()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bus.Close() }()
	replica.New(replica.Options{Bus: bus, Registry: master.NewRegistry(master.Limits{}), Registerer: d.Metrics()})
	end, err := postgres.RegisterMetrics(d.Metrics())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	types := make(map[string]string) // of those that have samples
	families, err := d.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	descs := make(chan *prometheus.Desc)
	go func() { d.Metrics().Describe(descs); close(descs) }()
	found := make(map[string]described)
	for name, kind := range types {
		if !strings.HasPrefix(name, "respawnd_") {
			found[name] = described{kind: kind}
		}
	}
	for desc := range descs {
		m := metricDesc.FindStringSubmatch(desc.String())
		if m == nil {
			t.Fatalf("description %s is not understood", desc)
		}
		name, help, labels := m[1], m[2], m[4]
		if !strings.HasPrefix(name, "respawnd_") {
			continue
		}
		if m[3] != "" {
			constant := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(m[3], "")
			labels = strings.Trim(constant+","+labels, ",")
		}
		kind := types[name]
		if kind == "" {
			kind = "gauge"
			if strings.HasSuffix(name, "_total") {
				kind = "counter"
			}
		}
		found[name] = described{kind, help, strings.FieldsFunc(labels, func(r rune) bool { return r == ',' })}
	}
	return found
}

func TestReferenceOfMetrics(t *testing.T) {
	t.Parallel()
	rows := make(map[string]string)
	for name, m := range describedMetrics(t) {
		if strings.HasPrefix(name, "respawnd_") {
			rows[name] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, m.kind, strings.Join(m.labels, ", "), cell(m.help))
		}
	}
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name])
	}
	checkReference(t, "metrics.md", "| metric |", b.String())
}

func TestMetricsFollowTheRules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for name, m := range describedMetrics(t) {
		switch {
		case strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_"):
			continue
		case !strings.HasPrefix(name, "respawnd_"):
			t.Errorf("metric %q, want a name that starts with respawnd_", name)
		}
		sample := name
		if m.kind == "histogram" {
			sample += "_count"
		}
		labels := ""
		for _, l := range m.labels {
			labels += l + `="x",`
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s{%s} 1\n", name, m.help, name, m.kind, sample, labels)
	}
	problems, err := promlint.New(strings.NewReader(b.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("metric %s: %s", p.Metric, p.Text)
	}
}
