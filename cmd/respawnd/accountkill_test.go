package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// stormPassword is the password of all accounts of the storm; it must not be
// found anywhere in the data folder.
const stormPassword = "Kx7-storm-Passwd"

// askSearch sends one request of account search and returns the answer up to its end.
func askSearch(ctx context.Context, at netip.AddrPort, request string) (string, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(hang)); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte(request)); err != nil {
		return "", err
	}
	var answer []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(answer, []byte(gamespy.Final)) {
		n, err := c.Read(buf)
		if err != nil {
			return "", err
		}
		answer = append(answer, buf[:n]...)
	}
	return string(answer), nil
}

// newUser creates an account as a game does and returns the id of its profile,
// "" if that was not acknowledged.
func newUser(ctx context.Context, at netip.AddrPort, name string) (id string) {
	answer, err := askSearch(ctx, at, fmt.Sprintf(
		`\newuser\\nick\%s\email\%s@example.com\passenc\%s\productID\1\namespaceid\1\uniquenick\%s\partnerid\0\gamename\gmtest\final\`,
		name, name, gamespy.EncodePassword(stormPassword), name))
	if err != nil || !strings.HasPrefix(answer, `\nur\0\pid\`) {
		return ""
	}
	return field(answer, "pid")
}

// wantAccount fails unless the account is there and takes its password.
func wantAccount(t *testing.T, at netip.AddrPort, name string, round int) {
	t.Helper()
	answer, err := askSearch(t.Context(), at, fmt.Sprintf(
		`\check\\nick\%s\email\%s@example.com\partnerid\0\passenc\%s\gamename\gmtest\final\`,
		name, name, gamespy.EncodePassword(stormPassword)))
	if err != nil || !strings.HasPrefix(answer, `\cur\0\pid\`) {
		t.Errorf("after kill %d account %s, which was acknowledged, is answered with %q, %v", round, name, answer, err)
	}
}

// An account that was acknowledged is there after a crash, whenever that comes,
// and its password is nowhere on the disk.
func TestAcknowledgedAccountsSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, "storm.yaml", "net:\n  trusted: [127.0.0.0/8]\n") // quotas are not what is tested
	var accounts []string
	next := 0
	const rounds = 4
	for round := range rounds {
		c := startChild(t, dir, "--config", file)
		for _, name := range accounts {
			wantAccount(t, c.address["gpsp"], name, round)
		}
		acks := make(chan string)
		var storm sync.WaitGroup
		for range 4 {
			first := next
			next += 100_000
			storm.Go(func() {
				for n := first; ; n++ {
					name := fmt.Sprint("storm", n)
					if newUser(t.Context(), c.address["gpsp"], name) == "" {
						return
					}
					acks <- name
				}
			})
		}
		go func() { storm.Wait(); close(acks) }()
		left := 5 + rand.IntN(30)
		for name := range acks {
			accounts = append(accounts, name)
			if left--; left == 0 {
				_ = c.process.Kill() // others are under way
			}
		}
		c.kill()
	}
	c := startChild(t, dir, "--config", file)
	for _, name := range accounts {
		wantAccount(t, c.address["gpsp"], name, rounds)
	}
	c.kill()
	wantNoPassword(t, dir)
}

// wantNoPassword fails if a file of the folder holds the password or its MD5 in
// any usual form.
func wantNoPassword(t *testing.T, dir string) {
	t.Helper()
	sum := md5.Sum([]byte(stormPassword))
	forms := map[string][]byte{
		"the password":           []byte(stormPassword),
		"the password in base64": []byte(base64.StdEncoding.EncodeToString([]byte(stormPassword))),
		"the encoded password":   []byte(gamespy.EncodePassword(stormPassword)),
		"its MD5":                sum[:],
		"its MD5 in hex":         []byte(hex.EncodeToString(sum[:])),
		"its MD5 in upper hex":   []byte(strings.ToUpper(hex.EncodeToString(sum[:]))),
		"its MD5 in base64":      []byte(base64.StdEncoding.EncodeToString(sum[:])),
	}
	for _, name := range names(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for what, form := range forms {
			if bytes.Contains(b, form) {
				t.Errorf("%s holds %s", name, what)
			}
		}
	}
}
