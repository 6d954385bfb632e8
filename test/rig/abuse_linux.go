package rig

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cdkey"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/utmaster"
)

// Refusal waits for the verdict on a server and reports whether it was refused.
func (d *Running) Refusal(a netip.AddrPort) bool {
	d.T.Helper()
	final := []string{"listed", "list full", "too many"}
	e := d.WaitFor("the verdict on "+a.String(), 0, func(e Entry) bool {
		return e.Text("peer") == a.String() &&
			slices.ContainsFunc(final, func(v string) bool { return strings.HasPrefix(e.Text("verdict"), v) })
	})
	return !strings.HasPrefix(e.Text("verdict"), "listed")
}

// Abused is a service over TCP, with data that clients send.
type Abused struct {
	Service  string
	Question []byte // one that is answered
	Endless  []byte // an endless request, sent until the connection is closed
}

// AbusedServices are all services over TCP.
func AbusedServices(t testing.TB) []Abused {
	request := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: TestGame, From: TestGame, Challenge: [8]byte([]byte("abcdefgh")), Fields: `\hostname`,
	}
	list, err := request.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	hello := utmaster.Hello{Word: UtWord + "CLIENT", Version: UtVersion, Language: "int"}
	epic := append(hello.AppendTo(nil), 1, 0, 0, 0, 0) // an empty digest
	epic = utmaster.AppendQuery(epic, nil)
	rubbish := bytes.Repeat([]byte("x"), 64<<10)
	http := "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	header := append([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nX: "), rubbish...)
	return []Abused{
		{"serverbrowse", list, append([]byte{0xFF, 0xFF}, rubbish...)},
		{"legacylist", []byte(`\gamename\gmtest\gamever\1\location\0\validate\AAAAAAAA\final\\queryid\1.1\list\\gamename\gmtest\final\`), rubbish},
		{"gpcm", []byte(`\ka\\final\\login\\challenge\x\uniquenick\x\userid\0\response\x\id\1\final\`), rubbish},
		{"gpsp", []byte(`\valid\\email\unknown@example.org\gamename\gmtest\final\`), rubbish},
		{"peerchat", []byte("USRIP\r\nUSER x 127.0.0.1 peerchat.gamespy.com :x\r\nNICK x\r\nJOIN #GSP!gmtest\r\nGETCKEY #GSP!gmtest * 1 0 :\\username\r\n"), rubbish},
		{"gstats", []byte("a request before the proof of a game" + `\final\`), rubbish},
		{"utmaster", epic, append([]byte{0, 0x10, 0, 0}, rubbish...)},
		{"web", []byte(http), header},
		{"admin", []byte(http), header},
		{"dns", append([]byte{0, 17}, "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"...), append([]byte{0xFF, 0xFF}, rubbish...)},
	}
}

// Footprint is the resource use of a process.
type Footprint struct {
	Files, Goroutines int
	Conns             int // of the services that count them
	Heap              int // bytes
}

// Footprint returns what the daemon holds now.
func (c *Child) Footprint() Footprint {
	c.T.Helper()
	const files, goroutines, heap = "process_open_fds", "go_goroutines", "go_memstats_heap_alloc_bytes"
	samples := Metrics(c.T, &c.Running, files, goroutines, heap, "respawnd_connections")
	number := func(sample string) int {
		v, err := strconv.ParseFloat(samples[sample], 64)
		if err != nil {
			c.T.Fatalf("%s: %v", sample, err)
		}
		return int(v)
	}
	u := Footprint{Files: number(files), Goroutines: number(goroutines), Heap: number(heap)}
	for _, a := range AbusedServices(c.T) {
		if a.Service != "admin" {
			u.Conns += number(OpenConnections(a.Service))
		}
	}
	return u
}

// Flooder is a socket on one of the addresses of this machine: all of 127.0.0.0/8
// are.
type Flooder struct {
	t    testing.TB
	Conn *net.UDPConn
}

// NewFlooder opens a socket at an address from which a test sends floods.
func NewFlooder(t testing.TB, at netip.Addr) Flooder {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(Hang)); err != nil {
		t.Fatal(err)
	}
	return Flooder{t, c}
}

// MustSend sends a packet and fails the test if that fails.
func (f Flooder) MustSend(to netip.AddrPort, p []byte) {
	f.t.Helper()
	if _, err := f.Conn.WriteToUDPAddrPort(p, to); err != nil {
		f.t.Fatal(err)
	}
}

// Answers returns the received packets, without waiting.
func (f Flooder) Answers() (list [][]byte) {
	f.t.Helper()
	raw, err := f.Conn.SyscallConn()
	if err != nil {
		f.t.Fatal(err)
	}
	err = raw.Read(func(fd uintptr) bool {
		buf := make([]byte, 1<<16)
		for {
			n, _, err := syscall.Recvfrom(int(fd), buf, syscall.MSG_DONTWAIT)
			if err != nil {
				return true
			}
			list = append(list, bytes.Clone(buf[:n]))
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

// GamespyXOR returns a message of game servers about CD keys as it is sent.
func GamespyXOR(text string) []byte {
	const key = "gamespy"
	b := []byte(text)
	for i := range b {
		b[i] ^= key[i%len(key)]
	}
	return b
}

// CdKeyAuth returns the question of a game server for a key.
func CdKeyAuth(key string, product, skey int) []byte {
	return GamespyXOR(fmt.Sprintf(`\auth\\pid\%d\ch\wX3kQ9zz\resp\%s\ip\16777343\skey\%d\reqproof\1\`, product, cdkey.Respond(key, "wX3kQ9zz", 77), skey))
}

// Answered sends a request over c and reports whether a usable answer comes
// back.
func (a Abused) Answered(c net.Conn) bool {
	if _, err := c.Write(a.Question); err != nil {
		return false
	}
	var b [2048]byte
	n, _ := io.ReadAtLeast(c, b[:], 10)
	said := string(b[:n])
	return n > 0 && !strings.Contains(said, "many connections") && !strings.Contains(said, "is full")
}

// WantRefusedStart fails unless the program ends by itself, with an error that
// has all parts.
func WantRefusedStart(t *testing.T, c *Child, parts ...string) {
	t.Helper()
	guard := time.NewTimer(Hang)
	defer guard.Stop()
	select {
	case <-c.Ended:
	case <-guard.C:
		t.Fatalf("the daemon neither starts nor ends:\n%s", c.Log)
	}
	if code := c.State.ExitCode(); code != commands.ExitFailure {
		t.Errorf("exit code %d, want %d", code, commands.ExitFailure)
	}
	text := c.Log.String()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the log lacks %q:\n%s", p, text)
		}
	}
	if strings.Contains(text, "panic") || strings.Contains(text, "message:ready") {
		t.Errorf("the log of a start that is refused:\n%s", text)
	}
}

// Readied is closed when the daemon has said that it is ready.
func (c *Child) Readied() <-chan struct{} {
	ready := make(chan struct{})
	go func() { // until the daemon is ready or has ended
		for {
			lines, more := c.Log.Since(0)
			if slices.ContainsFunc(lines, Message("ready")) {
				close(ready)
				return
			}
			select {
			case <-more:
			case <-c.Ended:
				return
			}
		}
	}()
	return ready
}

// Alive sends a keepalive and reports whether it is answered.
func (h *Host) Alive() bool {
	return h.Keepalive(netclient.Bound(h.T.Context(), 5*time.Second)) == nil
}

// Cpu returns the processor time that all threads of the process have had.
func (c *Child) Cpu() (total time.Duration) {
	c.T.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.Process.Pid))
	if err != nil || len(threads) == 0 {
		c.T.Fatalf("no threads found: %v", err)
	}
	for _, name := range threads {
		f, err := os.Open(name)
		if err != nil {
			continue // the thread has ended
		}
		text, _ := io.ReadAll(f)
		_ = f.Close()
		first, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(first, 10, 64)
		total += time.Duration(n)
	}
	return total
}
