package nas

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// fetch sends a form in pairs to /download.
func fetch(f *fixture, pairs ...string) (status int, body string) {
	f.t.Helper()
	var form Form
	for i := 0; i < len(pairs); i += 2 {
		form = append(form, Field{pairs[i], []byte(pairs[i+1])})
	}
	w := f.send("POST", "dls1.nintendowifi.net", "/download", string(form.Append(nil)))
	return w.Code, w.Body.String()
}

func TestDownload(t *testing.T) {
	dir := shelf(t)
	f := build(t, func(o *Options) { o.Config.NASDownloads = dir })
	for name, tt := range map[string]struct {
		pairs  []string
		status int
		want   string
	}{
		"count":               {[]string{"action", "COUNT", "gamecd", "ABCE"}, 200, "3"},
		"count, code in case": {[]string{"action", "count", "gamecd", "abce"}, 200, "3"},
		"count of a list":     {[]string{"action", "count", "gamecd", "IRAO"}, 200, "3"},
		"count by attribute":  {[]string{"action", "count", "gamecd", "IRAO", "attr1", "MYSTERY", "attr2", ""}, 200, "2"},
		"count by two":        {[]string{"action", "count", "gamecd", "IRAO", "attr1", "MYSTERY", "attr2", "3"}, 200, "1"},
		"third attribute":     {[]string{"action", "count", "gamecd", "IRAO", "attr3", "x"}, 200, "0"},
		"other folder":        {[]string{"action", "count", "rhgamecd", "ZZZZ", "gamecd", "ABCE"}, 200, "3"},
		"no folder":           {[]string{"action", "count", "gamecd", "ZZZZ"}, 200, "0"},
		"list":                {[]string{"action", "list", "gamecd", "ABCE"}, 200, "a.bin\t\t\t\t\t1\r\nb.bin\t\t\t\t\t2\r\nc.bin\t\t\t\t\t3\r\n"},
		"list from the end":   {[]string{"action", "list", "gamecd", "ABCE", "offset", "9", "num", "9"}, 200, "\r\n"},
		"list of none":        {[]string{"action", "list", "gamecd", "ABCE", "num", "0"}, 200, "\r\n"},
		"empty list":          {[]string{"action", "list", "gamecd", "ZZZZ"}, 200, "\r\n"},
		"large offset":        {[]string{"action", "list", "gamecd", "ABCE", "offset", "2147483647", "num", "2147483647"}, 200, "\r\n"},
		"too large offset":    {[]string{"action", "list", "gamecd", "ABCE", "offset", "2147483648"}, 400, ""},
		"negative offset":     {[]string{"action", "list", "gamecd", "ABCE", "offset", "-1"}, 400, ""},
		"file":                {[]string{"action", "contents", "gamecd", "ABCE", "contents", "b.bin"}, 200, "22"},
		"file beside a list":  {[]string{"action", "contents", "gamecd", "IRAO", "contents", "g1.myg"}, 200, "gift"},
		"listed, missing":     {[]string{"action", "contents", "gamecd", "IRAO", "contents", "g2.myg"}, 404, ""},
		"the list":            {[]string{"action", "contents", "gamecd", "IRAO", "contents", "_list.txt"}, 404, ""},
		"hidden":              {[]string{"action", "contents", "gamecd", "ABCE", "contents", ".dot"}, 404, ""},
		"folder":              {[]string{"action", "contents", "gamecd", "ABCE", "contents", "sub"}, 404, ""},
		"below":               {[]string{"action", "contents", "gamecd", "ABCE", "contents", "sub/d.bin"}, 404, ""},
		"above":               {[]string{"action", "contents", "gamecd", "ABCE", "contents", "../secret.txt"}, 404, ""},
		"above, other slash":  {[]string{"action", "contents", "gamecd", "ABCE", "contents", `..\secret.txt`}, 404, ""},
		"absolute":            {[]string{"action", "contents", "gamecd", "ABCE", "contents", "/etc/passwd"}, 404, ""},
		"drive":               {[]string{"action", "contents", "gamecd", "ABCE", "contents", "c:secret.txt"}, 404, ""},
		"with a zero":         {[]string{"action", "contents", "gamecd", "ABCE", "contents", "a.bin\x00.txt"}, 404, ""},
		"without a name":      {[]string{"action", "contents", "gamecd", "ABCE"}, 404, ""},
		"code above":          {[]string{"action", "count", "gamecd", "../."}, 400, ""},
		"code too long":       {[]string{"action", "count", "gamecd", "ABCEF"}, 400, ""},
		"one code is bad":     {[]string{"action", "count", "rhgamecd", "A/..", "gamecd", "ABCE"}, 400, ""},
		"no code":             {[]string{"action", "count"}, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := fetch(f, tt.pairs...)
			if status != tt.status || status == 200 && body != tt.want {
				t.Errorf("%d %q, want %d %q", status, body, tt.status, tt.want)
			}
		})
	}
	if status, body := fetch(f, "action", "erase", "gamecd", "ABCE"); status != 200 || !strings.Contains(body, "returncd=MTA5") {
		t.Errorf("unknown action: %d %q", status, body)
	}
	f.backend.Reload(ConsoleConfig{NASDownloads: filepath.Join(dir, "gone")})
	if status, body := fetch(f, "action", "count", "gamecd", "ABCE"); status != 200 || body != "0" || f.counted(requestCount, resultFailed) != 1 {
		t.Errorf("the folder is gone: %d %q", status, body)
	}
	f.backend.Reload(ConsoleConfig{NAS: true})
	if status, body := fetch(f, "action", "count", "gamecd", "ABCE"); status != 200 || body != "0" {
		t.Errorf("without a folder: %d %q", status, body)
	}
	if status, _ := fetch(f, "action", "contents", "gamecd", "ABCE", "contents", "a.bin"); status != 404 {
		t.Errorf("a file without a folder: %d", status)
	}
}

// TestDownloadLinks follows no link out of the folder of the downloads, and waits for no pipe.
func TestDownloadLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links take rights there")
	}
	dir := shelf(t)
	for name, to := range map[string]string{"ABCE/link.bin": "../secret.txt", "ABCE/in.bin": "a.bin", "EVIL": os.TempDir()} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	f := build(t, func(o *Options) { o.Config.NASDownloads = dir })
	for _, name := range []string{"link.bin", "in.bin"} {
		if status, _ := fetch(f, "action", "contents", "gamecd", "ABCE", "contents", name); status != 404 {
			t.Errorf("%s: %d", name, status)
		}
	}
	if _, body := fetch(f, "action", "count", "gamecd", "ABCE"); body != "3" {
		t.Errorf("%s files, want 3: links do not count", body)
	}
	if _, body := fetch(f, "action", "count", "gamecd", "EVIL"); body != "0" {
		t.Errorf("%s files behind a link out of the folder", body)
	}
}

// TestFolderBounds refuses lists and folders beyond the bounds, and counts that.
func TestFolderBounds(t *testing.T) {
	long := strings.Repeat("a", maxListLine)
	for name, tt := range map[string]struct {
		text string
		n    int // files; -1: refused
	}{
		"most files":     {strings.Repeat("a\n", maxFiles), maxFiles},
		"too many files": {strings.Repeat("a\n", maxFiles+1), -1},
		"longest line":   {long, 1},
		"too long line":  {long + "a", -1},
		"empty":          {"", 0},
		"empty lines":    {strings.Repeat("\r\n", maxFiles+1), 0},
	} {
		list, err := parseList([]byte(tt.text))
		if (err == nil) != (tt.n >= 0) || err == nil && len(list) != tt.n {
			t.Errorf("%s: %d files, %v, want %d", name, len(list), err, tt.n)
		}
	}
	dir := shelf(t)
	if err := os.WriteFile(filepath.Join(dir, "IRAO", listName), []byte(strings.Repeat("\n", maxListSize+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "ABCE", "a.bin"), maxFileSize+1); err != nil {
		t.Fatal(err)
	}
	f := build(t, func(o *Options) { o.Config.NASDownloads = dir })
	if status, body := fetch(f, "action", "count", "gamecd", "IRAO"); status != 200 || body != "0" || f.counted(requestCount, resultFailed) != 1 {
		t.Errorf("a list that is too large: %d %q", status, body)
	}
	if status, _ := fetch(f, "action", "contents", "gamecd", "ABCE", "contents", "a.bin"); status != 404 || f.counted(requestContents, resultFailed) != 1 {
		t.Errorf("a file that is too large: %d", status)
	}
	if _, body := fetch(f, "action", "count", "gamecd", "ABCE"); body != "2" {
		t.Errorf("%s files, want 2: the large one cannot be downloaded", body)
	}
}

func TestFolderOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ABCE"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(i int) {
		if err := os.WriteFile(filepath.Join(dir, "ABCE", strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxFiles {
		write(i)
	}
	f := build(t, func(o *Options) { o.Config.NASDownloads = dir })
	if _, body := fetch(f, "action", "count", "gamecd", "ABCE"); body != strconv.Itoa(maxFiles) {
		t.Errorf("%s files", body)
	}
	write(maxFiles)
	if _, body := fetch(f, "action", "count", "gamecd", "ABCE"); body != "0" || f.counted(requestCount, resultFailed) != 1 {
		t.Errorf("%s files of one too many", body)
	}
}

func TestCheckConsoles(t *testing.T) {
	dir := shelf(t)
	for path, want := range map[string]string{
		"": "", dir: "", filepath.Join(dir, "none"): "webservices.nas_downloads: ", filepath.Join(dir, "secret.txt"): "is not a folder",
	} {
		err := (&ConsoleConfig{NASDownloads: path}).CheckConsoles()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckConsoles(%q) = %v", path, err)
		}
	}
}

// FuzzList checks that a list stays the same when it is sent and read again, and that no
// name of a file leads elsewhere.
func FuzzList(f *testing.F) {
	f.Add([]byte("g1.myg\tA gift\tMYSTERY\t2\t\t4\r\n\r\ng2.myg\n"), "g1.myg")
	f.Add([]byte("a\rb\n"), "../a")
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		list, err := parseList(b)
		if err == nil {
			again, err := parseList(appendList(nil, list))
			if err != nil || len(again) != len(list) {
				t.Fatalf("%q became %q, %v", list, again, err)
			}
			for i := range list {
				if again[i] != list[i] {
					t.Errorf("%q became %q", list[i], again[i])
				}
			}
		}
		if isFileName(name) && (name != filepath.Base(name) || !filepath.IsLocal(name) || strings.ContainsAny(name, "/\\:\"")) {
			t.Errorf("the name %q is allowed", name)
		}
	})
}
