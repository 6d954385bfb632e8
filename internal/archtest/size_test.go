package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// mostMethods is the number of methods at which a type has more than one subject.
const mostMethods = 40

// largeTypes may have more methods, each for a reason.
var largeTypes = map[string]string{
	"admin.Server":                 "one method for each route of the operator's API",
	"daemon.Daemon":                "wires every part to the others",
	"gpcm.session":                 "one method for each row of its table of commands",
	"internal/cluster/natsbus.Bus": "implements cluster.Bus, whose subscriptions, requests and losses share one connection",
	"internal/presence.Clustered":  "implements presence.Hub over replicas that only change together",
	"master.Registry":              "one lock over the indexes of the list",
	"peerchat.links":               "one lock, that of the hall, over the channels of all nodes",
	"peerchat.session":             "one method for each row of its table of commands",
	"probe.Prober":                 "one lock over the rounds and the targets",
	"qr2.Server":                   "one method for each message of the protocol, and for each of its tests",
	"storage/records.Store":        "implements storage.Store",
	"storage/records.change":       "has the steps of all kinds of records",
	"web.Server":                   "one method for each page",
	"zanmaster.Server":             "one method for each message of the protocol, and for the pushes of bans",
}

func TestTypesHaveOneSubject(t *testing.T) {
	count := make(map[string]int)
	sourceFiles(t, func(name string, content []byte) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				count[path.Dir(name)+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	})
	for _, wrong := range tooLarge(count, largeTypes) {
		t.Error(wrong)
	}
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// tooLarge returns the types with too many methods, and the exceptions that are none.
func tooLarge(count map[string]int, exceptions map[string]string) (wrong []string) {
	for name, n := range count {
		if n > mostMethods && exceptions[name] == "" {
			wrong = append(wrong, fmt.Sprintf("%s has %d methods, want at most %d: cut it by subject", name, n, mostMethods))
		}
	}
	for name := range exceptions {
		if n := count[name]; n <= mostMethods {
			wrong = append(wrong, fmt.Sprintf("%s has %d methods: remove it from the exceptions", name, n))
		}
	}
	return wrong
}

func TestLargeTypesAreFound(t *testing.T) {
	count := map[string]int{"a.small": mostMethods, "a.large": mostMethods + 1, "a.known": mostMethods + 1}
	if got := tooLarge(count, map[string]string{"a.known": "a reason"}); len(got) != 1 || !strings.HasPrefix(got[0], "a.large ") {
		t.Errorf("tooLarge() = %q, want a.large", got)
	}
	if got := tooLarge(count, map[string]string{"a.known": "a reason", "a.large": "another", "a.small": "stale"}); len(got) != 1 || !strings.HasPrefix(got[0], "a.small ") {
		t.Errorf("tooLarge() = %q, want a.small", got)
	}
}
