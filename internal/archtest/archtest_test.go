package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/racetest"
)

const module = "github.com/respawnd/respawnd"

// root is the folder of the module; tests run in their package's folder.
var root = filepath.Join("..", "..")

// ranks orders the packages: one may import only those of a lower rank. A new
// package gets a line here, unless it has nothing but tests.
var ranks = map[string]int{
	"configs":              1,
	"internal/ascii":       0,
	"internal/qrsvg":       0,
	"internal/backup":      0,
	"internal/clean":       0,
	"internal/clock":       0,
	"internal/durable":     0,
	"internal/inforce":     0,
	"internal/hostnet":     0,
	"internal/cacerts":     0,
	"internal/lang":        0,
	"internal/logtail":     0,
	"internal/metric":      0,
	"internal/netserve":    0,
	"internal/noun":        0,
	"internal/porttest":    0, // for tests
	"internal/quake3":      0,
	"internal/idtech4":     0,
	"internal/nwn":         0,
	"storage/engine":       0,
	"internal/racetest":    0, // for tests
	"internal/ratetest":    0, // for tests
	"internal/unproved":    0,
	"internal/wake":        0,
	"internal/zandronum":   0,
	"web/session":          0,
	"webservices/commerce": 1,
	"webservices/soap":     0,
	"webservices/query":    0,
	"webservices/onehost":  0,

	"internal/a2s":              1,
	"internal/binpatch":         1,
	"internal/hostsfile":        1,
	"internal/kit":              2,
	"internal/accounts/seal":    1,
	"internal/cluster":          1,
	"internal/filterlog":        1,
	"internal/mail":             2,
	"internal/meeting":          1,
	"internal/mail/mailtest":    2, // for tests
	"internal/nettest":          1, // for tests
	"internal/pgtest":           1, // for tests
	"internal/games":            1,
	"internal/gamespy":          1,
	"internal/ssq":              1,
	"internal/quake2":           1,
	"fesl/wire":                 1,
	"fesl/lobby":                2,
	"internal/unreal2":          0,
	"internal/verdicts":         1,
	"master":                    1,
	"master/filter":             1,
	"master/views":              1,
	"internal/storetest":        3, // for tests
	"storage":                   1,
	"storage/copying":           1,
	"storage/engine/enginetest": 1, // for tests
	"storage/engine/memory":     1, // for tests
	"web/front":                 1,

	"internal/accounts":            2,
	"internal/advertise":           2,
	"internal/bans":                2,
	"internal/cdkeys":              2,
	"internal/clans":               2,
	"internal/colour":              2,
	"internal/dialogue":            2,
	"internal/cluster/clustertest": 2, // for tests
	"internal/metric/metrictest":   2, // for tests
	"internal/coherence":           2,
	"internal/drops":               2,
	"internal/cluster/natsbus":     2,
	"master/replica":               2,
	"internal/chatrules":           2,
	"internal/fault":               2,
	"internal/files":               2,
	"internal/foreign":             2,
	"internal/history":             2,
	"internal/netclient":           2,
	"internal/news":                2,
	"internal/played":              2,
	"internal/presence":            2,
	"internal/query":               2,
	"internal/stats":               2,
	"master/courier":               3,
	"master/rooms":                 2,
	"master/saved":                 2,
	"storage/bolt":                 2,
	"storage/postgres":             2,
	"storage/records":              2,
	"storage/storagetest":          2,
	"web/page":                     2,

	"internal/engine": 3,
	"internal/part":   3,
	"internal/uplink": 4,
	"operator":        3,
	"web/account":     3,
	"web/api":         4,
	"web/docs":        3,

	"webservices/competition": 4,
	"webservices/sake":        4,

	"webservices/bfhq":      4,
	"webservices/gamefiles": 4,
	"webservices/motd":      4,
	"webservices/nas":       4,
	"webservices/sakefiles": 4,

	"internal/service": 4,
	"internal/ssl3":    3,
	"webservices/auth": 4,

	"admin":               5,
	"dnsserver":           5,
	"fesl":                5,
	"theater":             5,
	"gpcm":                5,
	"gpsp":                5,
	"lan":                 5,
	"master/legacylist":   5,
	"master/serverbrowse": 5,
	"mangler":             5,
	"natneg":              5,
	"peerchat":            5,
	"cdkey":               5,
	"gstats":              5,
	"probe":               5,
	"probe/probetest":     5, // for tests
	"qr2":                 5,
	"relay":               5,
	"quickmatch":          5,
	"snapshot":            5,
	"ssq":                 5,
	"q3master":            5,
	"q2master":            5,
	"utmaster":            5,
	"idmaster":            5,
	"nwmaster":            5,
	"odamaster":           5,
	"torquemaster":        5,
	"tribesmaster":        5,
	"valvemaster":         5,
	"web":                 5,
	"webhook":             5,
	"webservices":         5,
	"zanmaster":           5,

	"codmaster":       6,
	"qwmaster":        6,
	"federation":      6,
	"daemon":          6,
	"daemon/natcheck": 6,
	"daemon/playtest": 7,
	"daemon/selftest": 6,
	"web/webtest":     6, // for tests

	"daemon/services": 7,

	"cmd/respawnd/cli":        8,
	"cmd/respawnd/operations": 9,
	"cmd/respawnd/players":    9,
	"cmd/respawnd/commands":   10,
	"cmd/respawnd":            11,
	"test/rig":                11, // for tests
	"natneg/natnegtest":       8,  // for tests

	"internal/archtest": outside,
}

// highestInternal is the highest rank of a package below internal: what has no opinion about
// games, and what protocols stand on. The daemon, above the protocols, is not there.
const highestInternal = 4

// readSettings are the packages that may import configs: services get their own
// section, as a value.
var readSettings = []string{"cmd/respawnd/cli", "cmd/respawnd/commands", "cmd/respawnd/operations", "federation", "daemon", "internal/engine", "internal/mail", "internal/service", "daemon/services", "operator", "probe", "test/rig", "webhook"}

// insecure is the package of broken encryption that only usesInsecure may import.
const insecure = "internal/ssl3"

var usesInsecure = []string{"webservices", "fesl"}

// outside is the rank of packages that take no part: they are checked for
// nothing but their own rules.
const outside = -1

// list returns the output of `go list -json` for all packages of the module.
var list = sync.OnceValues(func() ([]listed, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports,Dir,GoFiles", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, cmd.Wait()
		} else if err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
		all = append(all, p)
	}
})

type listed struct {
	ImportPath, Name, Dir string
	Imports, GoFiles      []string
}

// short returns the path of a package inside the module.
func short(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

func packages(t *testing.T) []listed {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func TestEveryPackageHasARank(t *testing.T) {
	for _, p := range packages(t) {
		name := short(p.ImportPath)
		rank, ok := ranks[name]
		if !ok && len(p.GoFiles) > 0 {
			t.Errorf("package %s is missing in the table of ranks", name)
		}
		if strings.HasPrefix(name, "internal/") && rank > highestInternal {
			t.Errorf("package %s has rank %d: what stands on protocols is not below internal", name, rank)
		}
	}
}

func TestPackagesImportOnlyLowerRanks(t *testing.T) {
	for _, p := range packages(t) {
		for _, wrong := range wrongArrows(short(p.ImportPath), p.Imports) {
			t.Error(wrong)
		}
	}
}

// wrongArrows returns the imports of a package that break the rules.
func wrongArrows(from string, imports []string) (wrong []string) {
	own, ok := ranks[from]
	if !ok || own == outside {
		return nil
	}
	for _, path := range imports {
		to, ours := strings.CutPrefix(path, module+"/")
		if !ours {
			continue
		}
		switch rank, known := ranks[to]; {
		case !known:
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which has no rank", from, to))
		case rank == outside:
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which no package may import", from, to))
		case rank >= own:
			wrong = append(wrong, fmt.Sprintf("%s (rank %d) imports %s (rank %d), want a lower rank", from, own, to, rank))
		case to == insecure && !slices.Contains(usesInsecure, from):
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which only %s may", from, to, strings.Join(usesInsecure, " and ")))
		case to == "configs" && !slices.Contains(readSettings, from):
			wrong = append(wrong, fmt.Sprintf("%s imports configs, which only %s may", from, strings.Join(readSettings, ", ")))
		}
	}
	return wrong
}

func TestWrongArrowsAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		wrong    bool
	}{
		"down":               {"qr2", "master", false},
		"from the top":       {"cmd/respawnd/commands", "configs", false},
		"standard library":   {"master", "net/netip", false},
		"same rank":          {"qr2", "master/serverbrowse", true},
		"up":                 {"master", "qr2", true},
		"settings":           {"qr2", "configs", true},
		"without rank":       {"qr2", "nowhere", true},
		"tests of the shape": {"qr2", "internal/archtest", true},
		"broken encryption":  {"web", "internal/ssl3", true},
	} {
		to := module + "/" + tc.to
		if tc.to == "net/netip" {
			to = tc.to
		}
		if got := wrongArrows(tc.from, []string{to}); (len(got) > 0) != tc.wrong {
			t.Errorf("%s: wrongArrows(%s, %s) = %q, want wrong: %v", name, tc.from, to, got, tc.wrong)
		}
	}
}

// forbidden are package names that say nothing.
var forbidden = []string{"util", "utils", "common", "helper", "helpers", "types", "interfaces", "misc", "base", "lib", "shared", "models"}

func TestPackageNamesSaySomething(t *testing.T) {
	for _, p := range packages(t) {
		for part := range strings.SplitSeq(short(p.ImportPath), "/") {
			if slices.Contains(forbidden, part) || slices.Contains(forbidden, p.Name) {
				t.Errorf("package %s: the name %s says nothing", short(p.ImportPath), part)
			}
			if part != strings.ToLower(part) || strings.ContainsAny(part, "_-") {
				t.Errorf("package %s: want one word in lower case", short(p.ImportPath))
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		comment := packageComment(t, p)
		start := "Package " + p.Name + " "
		if p.Name == "main" {
			start = "Command " + path.Base(p.ImportPath) + " "
		}
		if len(p.GoFiles) > 0 && !strings.HasPrefix(comment, start) {
			t.Errorf("package %s: the comment begins %.40q, want %q", short(p.ImportPath), comment, start)
		}
		if rank, ok := ranks[short(p.ImportPath)]; ok && rank != outside && !saysNot.MatchString(comment) {
			t.Errorf("package %s: the comment does not say what it is not for", short(p.ImportPath))
		}
	}
}

var saysNot = regexp.MustCompile(`(?i)\b(not|no|nothing|never|neither|nor|none|only|alone)\b`)

// packageComment returns the comments above the package clauses.
func packageComment(t *testing.T, p listed) string {
	t.Helper()
	var comments []string
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			comments = append(comments, f.Doc.Text())
		}
	}
	if len(comments) > 1 {
		t.Errorf("package %s has %d package comments", short(p.ImportPath), len(comments))
	}
	return strings.Join(comments, "\n")
}

// sourceFiles yields the files that belong to the project, as paths from root.
func sourceFiles(t *testing.T, visit func(name string, content []byte)) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name == ".git" || name == "dist" || name == "respawnd-data" {
				return filepath.SkipDir
			}
			return nil
		}
		if name == ".git" {
			return nil // of a work tree beside the clone
		}
		if !d.Type().IsRegular() || name == "respawnd" || name == "respawnd.exe" || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".prof") {
			return nil // see .gitignore
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		seen++
		visit(name, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Fatalf("%d files found", seen)
	}
}

// maxLines is the length at which a file has more than one subject.
const maxLines = 800

func TestFilesAreShort(t *testing.T) {
	sourceFiles(t, func(name string, content []byte) {
		if lines := strings.Count(string(content), "\n"); strings.HasSuffix(name, ".go") && lines > maxLines {
			t.Errorf("%s has %d lines, want at most %d", name, lines, maxLines)
		}
	})
}

// foreign are references that only the authors of the project could understand, in
// lower case, by a text that each has in it: searching for a text is many times
// faster than for a pattern.
var foreign = map[string]*regexp.Regexp{
	"/work/":   regexp.MustCompile(`/work/` + `(shared|main)`),
	"/shared":  regexp.MustCompile(`\.\./` + `shared`),
	"issue":    regexp.MustCompile(`\bissues? ` + `#?[0-9]`),
	"/tmp/":    regexp.MustCompile(`/tmp/` + `brief`),
	"the brie": regexp.MustCompile(`\bthe ` + `brief\b`),
	"design":   regexp.MustCompile(`design` + `\.md`),
}

func TestFilesSpeakOfTheProjectAlone(t *testing.T) {
	if racetest.RaceDetector {
		t.Skip("reads each file: run it without -race")
	}
	sourceFiles(t, func(name string, content []byte) {
		content = bytes.ToLower(content)
		for text, re := range foreign {
			if !bytes.Contains(content, []byte(text)) {
				continue
			}
			if found := re.Find(content); found != nil {
				t.Errorf("%s mentions %q", name, found)
			}
		}
	})
}

// Importing a package starts no goroutine and builds no state.
func TestNoInitFunctions(t *testing.T) {
	sourceFiles(t, func(name string, content []byte) {
		if !strings.HasSuffix(name, ".go") || !bytes.Contains(content, []byte("func init(")) {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function", name)
			}
		}
	})
}

// row is a line of the table of services in the README.
type row struct{ Service, Port, State string }

func TestReadmeTellsWhichServicesAreBuilt(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	built := builtServices()
	var want []row
	for _, s := range services.All() {
		r := row{s.Name, strings.ToUpper(s.Network) + " " + strconv.Itoa(int(s.Port)), "planned"}
		if slices.Contains(built, s.Name) {
			r.State = "built"
		}
		want = append(want, r)
	}
	got := serviceTable(string(readme))
	for i := range got {
		if got[i].State != "built" { // any other word means that it does not exist yet
			got[i].State = "planned"
		}
	}
	byName := func(a, b row) int { return strings.Compare(a.Service, b.Service) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("services in README.md (-want +got):\n%s", diff)
	}
}

var linked = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

var portCell = regexp.MustCompile(`^(UDP|TCP|UDP\+TCP) [0-9]+$`)

// serviceTable returns the rows whose second cell is a port. Names may be links
// or in backquotes.
func serviceTable(text string) (rows []row) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 5 {
			continue
		}
		for i := range cells {
			cells[i] = linked.ReplaceAllString(strings.Trim(strings.TrimSpace(cells[i]), "`*"), "$1")
		}
		if portCell.MatchString(cells[2]) {
			rows = append(rows, row{cells[1], cells[2], cells[3]})
		}
	}
	return rows
}
