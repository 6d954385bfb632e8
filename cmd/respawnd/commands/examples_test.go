package commands

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

// Each command has an example in its help, which its arguments and flags allow.
func TestExamples(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`'[^']*'`)
	root := Root(cli.New(nil, nil, nil, nil))
	addExamples(root)
	for path, cmd := range leaves(root) {
		line := strings.TrimPrefix(cmd.Example, "  ")
		if !strings.HasPrefix(line, "respawnd "+path) {
			t.Errorf("%s has the example %q", path, line)
			continue
		}
		line = quoted.ReplaceAllStringFunc(line, func(s string) string { return strings.ReplaceAll(s, " ", "_") })
		if strings.ContainsAny(line, "[]|") || regexp.MustCompile(` [A-Z]{2,}`).MatchString(line) {
			t.Errorf("%s: a word of the example has no value: %s", path, line)
		}
		cmd, args, err := root.Find(strings.Fields(line)[1:])
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	var out bytes.Buffer
	if code := Run(t.Context(), cli.New(nil, nil, &out, &out), []string{"ban", "add", "--help"}); code != 0 ||
		!strings.Contains(out.String(), "\nExamples:\n  respawnd ban add 192.0.2.7 --for 24h --reason ") {
		t.Errorf("the help of ban add: exit code %d: %s", code, &out)
	}
}
