package netclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxPage is the longest page that Get reads, in bytes.
const maxPage = 1 << 20

// Get returns the page at a path of a server of this machine, host:port. A status
// other than 200 is an error, which begins with the path.
func Get(ctx context.Context, server, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+server+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := HTTP().Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %.200s", path, resp.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}
