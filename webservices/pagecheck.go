package webservices

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/service"
)

// checkPages asks for a newer version and for a file that does not exist, as games do.
func checkPages(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	_, body, err := getPage(ctx, t.Address(name), "motd."+t.Domain, "/motd/vercheck.asp?distid=0&gamename="+t.Game)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(body, `\newver\`) {
		return fmt.Errorf("the answer about a newer version is %.40q", body)
	}
	header, _, err := getPage(ctx, t.Address(name), t.Game+".sake."+t.Domain, "/SakeFileServer/download.aspx?fileid=0&gameid=0&pid=0")
	if err != nil {
		return err
	}
	if result := header.Get("Sake-File-Result"); result != "4" {
		return fmt.Errorf("the download of a file that does not exist has the result %q", result)
	}
	// Games wait for an answer to everything, and for the end of its connection.
	answer, err := openPage(ctx, t.Address(name), t.Domain, "/selftest")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusNotFound || !answer.Close {
		return fmt.Errorf("a path that does not exist is answered with %q, and the connection ends: %v", answer.Status, answer.Close)
	}
	return nil
}

// getPage requests a path from a host at an address.
func getPage(ctx context.Context, address, host, path string) (http.Header, string, error) {
	answer, err := openPage(ctx, address, host, path)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return answer.Header, string(body), err
}

// openPage is getPage without reading the body, which the caller closes.
func openPage(ctx context.Context, address, host, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Host = host
	return http.DefaultClient.Do(r)
}
