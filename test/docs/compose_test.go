package docs

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/test/rig"
)

var composeFolder = filepath.Join(rig.Repository, "packaging", "compose")

// composed is the part of compose.yaml that can be wrong without Docker's noticing.
type composed struct {
	Services map[string]struct {
		Profiles    []string
		Image       string
		Build       struct{ Context, Dockerfile string }
		NetworkMode string `yaml:"network_mode"`
		Command     []string
		Healthcheck struct{ Test []string }
		DependsOn   map[string]any `yaml:"depends_on"`
		Environment map[string]string
		Volumes     []string
	}
	Volumes map[string]any
	Version string
}

func readCompose(t *testing.T) (c composed) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(rig.ReadFile(t, filepath.Join(composeFolder, "compose.yaml"))), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// understood reports whether the program takes a command line, and the flag --config of it.
func understood(t *testing.T, args []string) (config string) {
	t.Helper()
	con := cli.New(nil, nil, nil, nil)
	cmd, rest, err := commands.Root(con).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || cmd.RunE == nil {
		t.Errorf("the program does not take %q: %v", args, err)
	}
	return con.Config
}

func TestComposeMountsWhatExists(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	if c.Version != "" || len(c.Services) < 4 {
		t.Fatalf("version %q, %d services", c.Version, len(c.Services))
	}
	used := make(map[string]bool)
	for name, s := range c.Services {
		if (s.NetworkMode == "host") == (name == "postgres") {
			t.Errorf("%s has the network %q", name, s.NetworkMode)
		}
		if _, tag, ok := strings.Cut(s.Image, ":"); s.Build.Context == "" && (!ok || tag == "latest") {
			t.Errorf("%s has no version of its image: %s", name, s.Image)
		}
		for other := range s.DependsOn {
			if _, ok := c.Services[other]; !ok {
				t.Errorf("%s needs %s, which does not exist", name, other)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(source, ".") {
				used[source] = true
				if _, ok := c.Volumes[source]; !ok {
					t.Errorf("%s mounts the volume %s, which is not declared", name, source)
				}
			} else if info, err := os.Stat(filepath.Join(composeFolder, source)); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s mounts %s: %v", name, source, err)
			}
		}
	}
	for v := range c.Volumes {
		if !used[v] {
			t.Errorf("volume %s is not used", v)
		}
	}
	if build := c.Services["respawnd"].Build; rig.ReadFile(t, filepath.Join(composeFolder, build.Context, build.Dockerfile)) == "" {
		t.Errorf("the image is built of %+v", build)
	}
}

func TestComposeSettings(t *testing.T) {
	t.Parallel()
	s := readCompose(t).Services["respawnd"]
	if s.Healthcheck.Test[0] != "CMD" || s.Healthcheck.Test[1] != "/respawnd" {
		t.Fatalf("health check %q", s.Healthcheck.Test)
	}
	config := understood(t, s.Command)
	if checked := understood(t, s.Healthcheck.Test[2:]); checked != config || !slices.Contains(s.Volumes, "./respawnd.yaml:"+config+":ro") {
		t.Errorf("the daemon has the configuration %q, its health check %q, mounts %q", config, checked, s.Volumes)
	}
	for _, variable := range []string{"", "postgres"} {
		env := dockerEnv(t)
		for k, v := range s.Environment {
			env = append(env, k+"="+interpolate(v, variable))
		}
		cfg, warnings, err := services.Load(configs.Options{File: filepath.Join(composeFolder, "respawnd.yaml"), Env: env})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("variable %q: %q, %v", variable, warnings, err)
		}
		mounted := slices.ContainsFunc(s.Volumes, func(v string) bool { return strings.HasSuffix(v, ":"+cfg.DataDir) })
		if cfg.Storage.Shared() != (variable != "") || !mounted {
			t.Errorf("variable %q: the daemon has %q, data in %s", variable, cfg.Storage.Engine, cfg.DataDir)
		}
	}
}

// interpolate puts the value of a variable in place of its names in the form of Docker: with a value
// for when it is empty, or with one for when it is not.
func interpolate(text, value string) string {
	return regexp.MustCompile(`\$\{[A-Z_]+:([-+])(.*)\}`).ReplaceAllStringFunc(text, func(s string) string {
		_, other, _ := strings.Cut(strings.TrimSuffix(s, "}"), ":")
		switch {
		case value == "" && other[0] == '-', value != "" && other[0] == '+':
			return other[1:]
		default:
			return value
		}
	})
}

// dockerEnv returns the environment that the image gives, and checks its health check.
func dockerEnv(t *testing.T) (env []string) {
	t.Helper()
	dockerfile := rig.ReadFile(t, filepath.Join(rig.Repository, "packaging", "Dockerfile"))
	for line := range strings.Lines(dockerfile) {
		if words, ok := strings.CutPrefix(line, "ENV "); ok {
			env = append(env, strings.Fields(words)...)
		}
	}
	check := regexp.MustCompile(`HEALTHCHECK .* CMD \["/respawnd", (.*)\]`).FindStringSubmatch(dockerfile)
	if check == nil || len(env) == 0 {
		t.Fatal("the Dockerfile has no health check or no environment")
	}
	understood(t, strings.Split(strings.ReplaceAll(check[1], `"`, ""), ", "))
	return env
}

func TestComposePorts(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	cfg := new(services.Config)
	configs.Defaults(cfg)
	var ours []string
	for _, k := range configs.Keys(cfg) {
		if _, port, err := net.SplitHostPort(k.Default); err == nil && strings.HasSuffix(k.Name, "listen") {
			ours = append(ours, port)
		}
	}
	if len(ours) < 10 {
		t.Fatalf("ports %q", ours)
	}
	listens := strings.TrimPrefix(c.Services["prometheus"].Command[1], "--web.listen-address=")
	grafana := c.Services["grafana"].Environment
	for _, at := range []string{listens, grafana["GF_SERVER_HTTP_ADDR"] + ":" + grafana["GF_SERVER_HTTP_PORT"]} {
		if host, port, err := net.SplitHostPort(at); err != nil || host != "127.0.0.1" || slices.Contains(ours, port) {
			t.Errorf("%s is not on the loopback address, or a port of ours: %v", at, err)
		}
	}
	if source := rig.ReadFile(t, filepath.Join(composeFolder, "grafana", "datasources.yaml")); !strings.Contains(source, `"http://`+listens+`"`) {
		t.Errorf("Grafana does not read Prometheus at %s:\n%s", listens, source)
	}
	if scraped := rig.ReadFile(t, filepath.Join(filepath.Dir(rulesFile), "prometheus.yml")); !strings.Contains(scraped, "['"+cfg.Admin.Listen+"']") {
		t.Errorf("Prometheus does not read %s:\n%s", cfg.Admin.Listen, scraped)
	}
	folder := regexp.MustCompile(`path: (\S+?)}`).FindStringSubmatch(rig.ReadFile(t, filepath.Join(composeFolder, "grafana", "dashboards.yaml")))
	if folder == nil || !slices.ContainsFunc(c.Services["grafana"].Volumes, func(v string) bool { return strings.Contains(v, ":"+folder[1]+"/") }) {
		t.Errorf("Grafana reads dashboards from %q", folder)
	}
}
