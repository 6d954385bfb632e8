package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/test/rig"
)

// Files for Prometheus and Grafana.
var (
	rulesFile     = filepath.Join(rig.Repository, "packaging", "prometheus", "respawnd.rules.yml")
	ruleTestsFile = filepath.Join(rig.Repository, "packaging", "prometheus", "respawnd.rules.test.yml")
	dashboardFile = filepath.Join(rig.Repository, "packaging", "grafana", "respawnd.json")
)

// dashboard is the part of a dashboard of Grafana that has expressions.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr, LegendFormat string }
	}
	Annotations struct {
		List []struct {
			Name   string
			Target struct{ Expr string }
		}
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(rig.ReadFile(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// rules are the alerts of the file of rules.
func rules(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal([]byte(rig.ReadFile(t, rulesFile)), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 10 {
		t.Fatalf("%s has %d groups, want one with at least 10 rules", rulesFile, len(file.Groups))
	}
	return file.Groups[0].Rules
}

type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

// expressions returns all expressions of the dashboard and the alerts, by the name
// of their panel or alert, with the templates of the texts around them.
func expressions(t *testing.T) map[string][2]string {
	t.Helper()
	all := make(map[string][2]string)
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all[fmt.Sprintf("panel %d %s, %s", p.ID, p.Title, target.RefID)] = [2]string{target.Expr, target.LegendFormat}
		}
	}
	for _, a := range d.Annotations.List {
		if a.Target.Expr != "" {
			all["annotation "+a.Name] = [2]string{a.Target.Expr, ""}
		}
	}
	for _, r := range rules(t) {
		all[r.Alert] = [2]string{r.Expr, strings.Join([]string{r.Annotations["summary"], r.Annotations["description"]}, "\n")}
	}
	return all
}

var (
	// usedMetric is a metric in an expression, with its matchers.
	usedMetric = regexp.MustCompile(`\b((?:respawnd|process|go)_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	// matcher is the label of a matcher.
	matcher = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	// grouping is a list of labels of an aggregation.
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	// templated is a label in a legend or an annotation.
	templated = regexp.MustCompile(`\{\{ ?(?:with )?(?:\$labels\.)?([a-z]+) ?\}\}`)
)

// ofPrometheus are labels that Prometheus adds to every sample.
var ofPrometheus = []string{"job", "instance"}

// Every metric and every label of the dashboard and of the alerts exists.
func TestMonitoringNamesMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := describedMetrics(t)
	seen := make(map[string]bool)
	for where, e := range expressions(t) {
		expr, text := e[0], e[1]
		labels := slices.Clone(ofPrometheus)
		for _, m := range usedMetric.FindAllStringSubmatch(expr, -1) {
			name := m[1]
			metric, ok := known[name]
			if base, part := cutPart(name); !ok && part != "" && known[base].kind == "histogram" {
				metric, ok = known[base], true
				labels = append(labels, "le")
			}
			if !ok {
				t.Errorf("%s: there is no metric %s", where, name)
			}
			seen[name] = true
			labels = append(labels, metric.labels...)
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(append(metric.labels, ofPrometheus...), l[1]) {
					t.Errorf("%s: the metric %s has no label %s", where, name, l[1])
				}
			}
		}
		for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
			for l := range strings.SplitSeq(m[1], ",") {
				if !slices.Contains(labels, strings.TrimSpace(l)) {
					t.Errorf("%s: no metric of %s has the label %s", where, expr, l)
				}
			}
		}
		for _, m := range templated.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(labels, m[1]) && m[1] != "end" {
				t.Errorf("%s: %q names the label %s, which no metric of %s has", where, text, m[1], expr)
			}
		}
	}
	for _, name := range []string{"respawnd_servers", "respawnd_players", "respawnd_sessions", "respawnd_last_reload_success", "respawnd_store_write_seconds_bucket", "respawnd_disk_free_bytes"} {
		if !seen[name] {
			t.Errorf("neither the dashboard nor an alert uses %s", name)
		}
	}
}

// cutPart divides the name of a sample of a histogram.
func cutPart(name string) (base, part string) {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok {
			return base, part
		}
	}
	return name, ""
}

// The panels of the dashboard have numbers of their own and do not overlap.
func TestDashboardLayout(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	ids, titles := make(map[int]bool), make(map[string]int)
	taken := make(map[[2]int]string)
	for _, p := range d.Panels {
		if p.ID <= 0 || ids[p.ID] {
			t.Errorf("panel %q: its number %d is not unique", p.Title, p.ID)
		}
		ids[p.ID] = true
		titles[p.Title]++
		g := p.GridPos
		if g.X+g.W > 24 {
			t.Errorf("panel %q is wider than the dashboard: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			if refs[target.RefID] {
				t.Errorf("panel %q has two queries %s", p.Title, target.RefID)
			}
			refs[target.RefID] = true
			if !strings.Contains(target.Expr, `instance=~"$instance"`) {
				t.Errorf("panel %q does not follow the choice of the daemon: %s", p.Title, target.Expr)
			}
		}
	}
	if len(d.Panels) < 20 || len(d.Templating.List) != 2 {
		t.Errorf("%d panels and %d variables", len(d.Panels), len(d.Templating.List))
	}
}

// Every alert describes the fault and the remedy, and has a test.
func TestAlertsAreExplained(t *testing.T) {
	t.Parallel()
	tests := rig.ReadFile(t, ruleTestsFile)
	names := make(map[string]bool)
	for _, r := range rules(t) {
		if names[r.Alert] || !strings.HasPrefix(r.Alert, "Respawnd") {
			t.Errorf("alert %q: want a name of its own that begins with Respawnd", r.Alert)
		}
		names[r.Alert] = true
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q, want critical or warning", r.Alert, s)
		}
		if s := r.Annotations["summary"]; s == "" || strings.HasSuffix(s, ".") || strings.Contains(s, "\n") {
			t.Errorf("%s: summary %q, want one phrase", r.Alert, s)
		}
		if s := r.Annotations["description"]; len(s) < 80 || !strings.HasSuffix(s, ".") {
			t.Errorf("%s: description %q, want sentences that say what to do", r.Alert, s)
		}
		if !strings.Contains(tests, r.Alert) {
			t.Errorf("%s has no test in %s", r.Alert, ruleTestsFile)
		}
	}
}

// promtool runs a command of Prometheus's tool.
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	path := rig.Program(t, "promtool", "prometheus")
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin = strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtool(t *testing.T) {
	if testing.Short() {
		t.Skip("promtool takes two seconds of CPU")
	}
	t.Parallel()
	t.Run("rules", func(t *testing.T) { promtool(t, "", "check", "rules", rulesFile) })
	t.Run("tests_of_rules", func(t *testing.T) { promtool(t, "", "test", "rules", ruleTestsFile) })
	t.Run("configuration", func(t *testing.T) {
		promtool(t, "", "check", "config", filepath.Join(filepath.Dir(rulesFile), "prometheus.yml"))
	})
	t.Run("dashboard", func(t *testing.T) { promtool(t, "", "check", "rules", dashboardRules(t)) })
	t.Run("metrics", func(t *testing.T) {
		c := rig.StartChild(t, t.TempDir())
		rig.Register(t, &c.Running, "hostname", "Counted")
		rig.List(t, &c.Running, "", `\hostname`)
		_, scraped := rig.Get(t, &c.Running, "admin", http.MethodGet, "/metrics", "")
		promtool(t, scraped, "check", "metrics")
		c.Stop()
	})
}

// dashboardRules writes the expressions of the dashboard as rules, for promtool, which
// reads no dashboards.
func dashboardRules(t *testing.T) (path string) {
	t.Helper()
	type rule struct{ Record, Expr string }
	var list []rule
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m", "$__interval", "1m")
	for where, e := range expressions(t) {
		if strings.HasPrefix(where, "panel ") || strings.HasPrefix(where, "annotation ") {
			list = append(list, rule{fmt.Sprintf("expr:%d", len(list)), variables.Replace(e[0])})
		}
	}
	if len(list) < 30 {
		t.Fatalf("the dashboard has %d expressions", len(list))
	}
	b, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": list}}})
	if err != nil {
		t.Fatal(err)
	}
	return rig.WriteFile(t, "dashboard.rules.yml", string(b))
}
