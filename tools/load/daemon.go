package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startTime is how long a child may take to say that it is ready.
	startTime = 30 * time.Second
	// stopTime is how long it may take to end after a signal.
	stopTime = 30 * time.Second
	// maxComplaints bounds the lines that are kept; further ones are counted.
	maxComplaints = 20
)

// services are those of respawnd that are given a free port of the loopback
// address.
var services = []string{
	"qr2", "serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "cdkey", "gstats", "natneg", "mangler", "zanmaster", "web", "admin", "ssq",
	"valvemaster", "q3master", "q2master", "qwmaster", "utmaster", "idmaster", "codmaster", "nwmaster", "odamaster", "torquemaster", "tribesmaster", "dns", "webservices", "fesl", "theater",
}

// child is a program whose cost is measured.
type child struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when its output has ended
	err   error         // how it ended, once ended is closed

	mu         sync.Mutex // guards the fields below
	address    map[string]netip.AddrPort
	complaints []string // lines of warnings and errors, the first ones
	warnings   int
	errors     int
	messages   map[string]int // how often each was logged
}

// startDaemon runs respawnd on free ports of the loopback address, with its data
// in dir. more are settings, such as "ssq.listen=".
func startDaemon(ctx context.Context, program, dir string, more ...string) (*child, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "serve", "--log-format", "json")
	cmd.Dir = dir
	set := func(key, value string) {
		cmd.Env = append(cmd.Env, "RESPAWND_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))+"="+value)
	}
	cmd.Env = os.Environ()
	set("data_dir", filepath.Join(dir, "data"))
	set("dns.enabled", "true")
	set("fesl.extra_listen", "")
	set("webservices.snapshot_servers", "127.0.0.0/8")
	for _, s := range services {
		set(s+".listen", "127.0.0.1:0")
	}
	for _, m := range more {
		key, value, _ := strings.Cut(m, "=")
		set(key, value)
	}
	return start(ctx, cmd)
}

// start runs a program that writes respawnd's log lines, up to the one that says
// that it is ready.
func start(ctx context.Context, cmd *exec.Cmd) (*child, error) {
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, ended: make(chan struct{}), address: make(map[string]netip.AddrPort), messages: make(map[string]int)}
	// A signal from the terminal is for us; children get one at the end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(c.ended)
		c.read(log, ready)
		c.err = cmd.Wait()
	}()
	wait, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case <-ready:
		return c, nil
	case <-c.ended:
		return nil, fmt.Errorf("%s ended before it was ready: %w: %s", cmd.Path, c.err, strings.Join(c.complaints, "\n"))
	case <-wait.Done():
		return nil, errors.Join(fmt.Errorf("%s is not ready: %w", cmd.Path, wait.Err()), c.stop())
	}
}

// read notes the addresses and the errors that the child logs.
func (c *child) read(log io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct{ Level, Message, Service, Address string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e.Level = "error" // no log line: a panic, say
		}
		c.mu.Lock()
		c.messages[e.Message]++
		switch {
		case e.Message == "listening":
			c.address[e.Service], _ = netip.ParseAddrPort(e.Address)
		case e.Message == "ready" && ready != nil:
			close(ready)
			ready = nil
		case e.Level == "warn":
			c.warnings++
			c.complain(lines.Text())
		case e.Level == "error", e.Level == "fatal", e.Level == "panic":
			c.errors++
			c.complain(lines.Text())
		}
		c.mu.Unlock()
	}
}

func (c *child) complain(line string) {
	if len(c.complaints) < maxComplaints {
		c.complaints = append(c.complaints, line)
	}
}

// wrote returns how often the child has logged a message.
func (c *child) wrote(message string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages[message]
}

// said returns how many warnings and errors the child has logged.
func (c *child) said() (warnings, errs int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.warnings, c.errors
}

// at returns where a service listens.
func (c *child) at(service string) netip.AddrPort {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address[service]
}

// addresses returns where each service listens.
func (c *child) addresses() map[string]netip.AddrPort {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.address)
}

// stop ends the child and returns its exit error.
func (c *child) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	t := time.AfterFunc(stopTime, func() { _ = c.cmd.Process.Kill() })
	defer t.Stop()
	<-c.ended
	return c.err
}

// cost is the resource use of a process.
type cost struct {
	cpu    time.Duration // in steps of 10 ms
	waited time.Duration // for a processor, all threads together
	rss    int64         // bytes, mapped files included
	fds    int
}

// userHz is the unit of processor times in /proc, on every Linux.
const userHz = 100

// measure reads the costs of the child from /proc.
func (c *child) measure() (cost, error) {
	proc := "/proc/" + strconv.Itoa(c.cmd.Process.Pid)
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return cost{}, err
	}
	// The name of the program, in parentheses, may hold blanks.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 22 {
		return cost{}, fmt.Errorf("%s/stat has %d fields", proc, len(fields))
	}
	var n [3]int64
	for i, f := range [...]int{11, 12, 21} { // utime, stime, rss in pages
		if n[i], err = strconv.ParseInt(fields[f], 10, 64); err != nil {
			return cost{}, err
		}
	}
	files, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return cost{}, err
	}
	waited, err := processorWait(proc)
	if err != nil {
		return cost{}, err
	}
	return cost{
		cpu:    time.Duration(n[0]+n[1]) * time.Second / userHz,
		waited: waited,
		rss:    n[2] * int64(os.Getpagesize()),
		fds:    len(files),
	}, nil
}

// processorWait returns how long the threads of a process were ready to run without a
// processor. Much of it shows that other programs use the machine.
func processorWait(proc string) (total time.Duration, err error) {
	threads, err := filepath.Glob(proc + "/task/*/schedstat")
	if err != nil {
		return 0, err
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended, or the system does not count it
		}
		var ran, waited time.Duration
		if _, err := fmt.Sscan(string(text), (*int64)(&ran), (*int64)(&waited)); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += waited
	}
	return total, nil
}

// mapped returns how many bytes of the memory of the child are of mapped files, which
// the system may drop: its store and its program.
func (c *child) mapped() (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "RssFile:"); found {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, nil
}

// metrics returns values of the daemon's metrics without labels, by name.
func (c *child) metrics(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.at("admin").String()+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	out := make(map[string]float64)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil && !strings.Contains(name, "{") {
			out[name] = v
		}
	}
	return out, lines.Err()
}
