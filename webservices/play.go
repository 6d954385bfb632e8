package webservices

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/webservices/nas"
)

// plays are the steps of the trial game.
var plays = []service.Play{
	{Service: "webservices", Network: "TCP", Order: service.PlayKeeps, Means: "files that the game loads over HTTP are missing", Run: play},
	{Service: "webservices", Network: "TCP", Order: service.PlayKeeps, HTTPS: true, Means: "the game asks web services over https, so they are missing", Run: playSecure},
	{Service: "nas", Network: "TCP", Order: service.PlayKeeps, Family: true, Means: "the console says that it cannot connect", Run: playConsole},
}

// play asks for a page; any answer of HTTP passes.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		answer := make([]byte, len("HTTP/1.1 404"))
		err := netclient.During(ctx, conn, func() error {
			if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: motd.gamespy.com\r\nConnection: close\r\n\r\n"); err != nil {
				return err
			}
			_, err := conn.Read(answer)
			return err
		})
		if err == nil && !strings.HasPrefix(string(answer), "HTTP/1.") {
			err = errors.New("the program that answers there does not speak HTTP")
		}
		return "it answers", err
	})
}

// playSecure signs in over https with a name that no player has; the refusal passes.
func playSecure(ctx context.Context, g games.Game, address string) (string, error) {
	return "it answers over https", signInUnknown(ctx, g.Name+".auth.pubsvs."+games.DefaultDomain, address, true)
}

// playConsole tests the connection as a console does, and asks where files are.
func playConsole(ctx context.Context, _ games.Game, address string) (string, error) {
	console := nas.Client{Address: address}
	page, err := console.Get(ctx, "conntest", "/")
	if err != nil {
		return "", err
	}
	if page.Header.Get("X-Organization") != "Nintendo" {
		return "", fmt.Errorf("the connection test is answered with status %d: the sign-in of consoles is off there", page.Status)
	}
	_, err = console.Ask(ctx, "/ac", nas.Form{{Name: "action", Value: []byte("svcloc")}, {Name: "svc", Value: []byte("9000")}})
	return "it answers over http, which the game must be patched for", err
}
