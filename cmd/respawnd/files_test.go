package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/files"
)

// formBoundary is that of the uploads of games.
const formBoundary = "Qr4G823s23d---<<><><<<>--7d118e0536"

// askWeb sends a request of a game to the web services and returns the whole answer.
func askWeb(t *testing.T, d *running, request string) string {
	t.Helper()
	conn := dialWeb(t, d)
	_, err := io.WriteString(conn, request)
	must(t, err)
	answer, err := io.ReadAll(conn)
	must(t, err)
	return string(answer)
}

func dialWeb(t *testing.T, d *running) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp4", d.address["webservices"].String())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(hang)))
	return conn
}

// webHead returns the head of a request as games write it.
func webHead(method, host, path string, length int, more string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n", method, path, host)
	if length >= 0 {
		head += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return head + more + "\r\n"
}

// uploadRequest is the upload of a content by a profile.
func uploadRequest(profile, content string) string {
	body := "--" + formBoundary + "\r\nContent-Disposition: form-data; name=\"filedata\"; filename=\"f.bin\"\r\n" +
		"Content-Type: application/octet-stream\r\n\r\n" + content + "\r\n--" + formBoundary + "--\r\n"
	return webHead("POST", "gmtest.sake.gamespy.com", "/SakeFileServer/upload.aspx?gameid=0&pid="+profile, len(body),
		"Content-Type: multipart/form-data; boundary="+formBoundary+"\r\n") + body
}

func downloadRequest(id string) string {
	return webHead("GET", "gmtest.sake.gamespy.com", "/SakeFileServer/download.aspx?fileid="+id+"&gameid=0&pid=1", -1, "")
}

// contents returns the names in the folder of contents of a data folder.
func contents(t *testing.T, dir string) (hashes, parts int) {
	t.Helper()
	for _, name := range names(t, filepath.Join(dir, files.Folder)) {
		if len(name) == 64 {
			hashes++
		} else {
			parts++
		}
	}
	return hashes, parts
}

// Files survive a daemon that is killed in the middle of an upload, and a restored
// backup; an upload that was not acknowledged leaves nothing behind.
func TestFilesOfPlayers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startChild(t, dir)
	typed(t, d.cliEnv(), stormPassword, "account", "create",
		"--email", "Ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	wantIn(t, askWeb(t, &d.running, uploadRequest("1", "hello")), "HTTP/1.1 200 OK\r\n", "\r\nSake-File-Result: 6\r\n")
	ann := signedIn(t, &d.running, "uniquenick", "Ann")
	wantIn(t, askWeb(t, &d.running, uploadRequest(ann.Profile, "hello")), "HTTP/1.1 200 OK\r\n", "\r\nSake-File-Result: 0\r\n", "\r\nSake-File-Id: 1\r\n")
	wantIn(t, askWeb(t, &d.running, uploadRequest(ann.Profile, strings.Repeat("x", 10<<20))), "\r\nSake-File-Result: 5\r\n")
	wantIn(t, askWeb(t, &d.running, downloadRequest("1")), "\r\nSake-File-Result: 0\r\n", "\r\n\r\nhello")
	wantIn(t, askWeb(t, &d.running, downloadRequest("../1")), "\r\nSake-File-Result: 3\r\n")

	cut := dialWeb(t, &d.running) // the daemon is killed with half of this upload on the disk
	whole := uploadRequest(ann.Profile, strings.Repeat("y", 1<<20))
	_, err := io.WriteString(cut, whole[:len(whole)/2])
	must(t, err)
	awaitPart(t, dir)
	d.kill()
	d = startChild(t, dir)
	d.waitFor("sweep", 0, message("removed contents that belong to no file"))
	if hashes, parts := contents(t, dir); hashes != 1 || parts != 0 {
		t.Errorf("%d contents and %d parts of uploads after the start, want the one that was acknowledged", hashes, parts)
	}
	wantIn(t, askWeb(t, &d.running, downloadRequest("1")), "\r\nSake-File-Result: 0\r\n", "\r\n\r\nhello")
	wantIn(t, askWeb(t, &d.running, downloadRequest("2")), "\r\nSake-File-Result: 4\r\n")

	saved, copied := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "copy")
	wantIn(t, d.cli("files", "list", "GMTEST"), "gmtest  1", "f.bin")
	wantIn(t, d.cli("files", "show", "1"), "bytes: 5\n", "profile: 1\n")
	wantIn(t, d.cli("files", "get", "1", copied), "5 bytes")
	if got := readFile(t, copied); got != "hello" {
		t.Errorf("files get wrote %q", got)
	}
	d.cli("backup", saved)
	wantIn(t, d.cli("files", "delete", "1"), "deleted file 1")
	refused(t, exitFailure, d.cliEnv(), []string{"files", "show", "1"}, "file 1")
	refused(t, exitUsage, d.cliEnv(), []string{"files", "get", "../1", copied}, "not the id of a file")
	if hashes, _ := contents(t, dir); hashes != 0 {
		t.Error("the content is still there after its file was deleted")
	}
	wantIn(t, d.cli("audit"), "file.delete")
	d.kill()

	env := testEnv(dir)
	cli(t, env, "restore", saved)
	wantIn(t, cli(t, env, "files", "list"), "gmtest  1")
	wantIn(t, cli(t, env, "files", "get", "1", copied), "5 bytes")
	d = startChild(t, dir)
	wantIn(t, askWeb(t, &d.running, downloadRequest("1")), "\r\nSake-File-Result: 0\r\n", "\r\n\r\nhello")
	wantIn(t, d.cli("account", "delete", "Ann@example.com"), "account 1")
	if hashes, _ := contents(t, dir); hashes != 0 {
		t.Error("the content is still there after its player was deleted")
	}
}

// awaitPart waits until an upload has half a megabyte on the disk, or more.
func awaitPart(t *testing.T, dir string) {
	t.Helper()
	part := regexp.MustCompile(`^\.upload-`)
	for end := time.Now().Add(hang); time.Now().Before(end); runtime.Gosched() {
		for _, name := range names(t, filepath.Join(dir, files.Folder)) {
			if info, err := os.Stat(filepath.Join(dir, files.Folder, name)); err == nil && part.MatchString(name) && info.Size() >= 400_000 {
				return
			}
		}
	}
	t.Fatal("no part of an upload is on the disk")
}
