package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxPage is the longest answer over HTTP that the self-test reads, in bytes.
const maxPage = 1 << 20

// webList looks for the test server in the list that tools read, and for an
// answer at all where no server could report.
func (t *selfTest) webList(ctx context.Context) error {
	if t.cfg.QR2.Listen == "" {
		_, err := fetch(ctx, t.cfg.Web.Listen, "/api/v1/stats")
		return err
	}
	if t.host == nil || t.secret == "" {
		return errNotRegistered
	}
	body, err := fetch(ctx, t.cfg.Web.Listen, "/api/v1/servers?game="+testGame+"&q="+url.QueryEscape(t.name))
	if err != nil {
		return err
	}
	var list struct {
		Servers []struct {
			Name string `json:"name"`
			Port uint16 `json:"port"`
		} `json:"servers"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("/api/v1/servers: %w", err)
	}
	for _, s := range list.Servers {
		if s.Name == t.name && s.Port == t.port() {
			return nil
		}
	}
	return errNotInList
}

// ready asks the daemon whether every socket of it is open.
func (t *selfTest) ready(ctx context.Context) error {
	_, err := fetch(ctx, t.cfg.Admin.Listen, "/readyz")
	return err
}

// fetch returns what is at a path of one of our services.
func fetch(ctx context.Context, listen, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+dialable(listen)+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	// A proxy of the environment is not between us and this machine.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := direct.Do(req)
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
