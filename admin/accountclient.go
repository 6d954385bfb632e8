package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// accountPath returns the path of an account.
func accountPath(id storage.UserID, tail string) string {
	return "/api/v1/accounts/" + strconv.FormatUint(uint64(id), 10) + tail
}

// CreateAccount implements AccountOperator.
func (c *Client) CreateAccount(ctx context.Context, a operator.NewAccount) (p storage.Profile, err error) {
	err = c.call(ctx, http.MethodPost, "/api/v1/accounts", a, &p)
	return p, err
}

// ListAccounts implements AccountOperator.
func (c *Client) ListAccounts(ctx context.Context, q operator.AccountQuery) (page operator.AccountPage, err error) {
	v := url.Values{"after": {strconv.FormatUint(uint64(q.After), 10)}, "limit": {strconv.Itoa(q.Limit)}, "match": {q.Match}}
	err = c.call(ctx, http.MethodGet, "/api/v1/accounts?"+v.Encode(), nil, &page)
	return page, err
}

// FindAccount implements AccountOperator.
func (c *Client) FindAccount(ctx context.Context, ref operator.AccountRef) (a accounts.Account, err error) {
	v := url.Values{
		"id": {strconv.FormatUint(uint64(ref.ID), 10)}, "email": {ref.Email}, "partner": {strconv.Itoa(ref.Partner)},
		"uniquenick": {ref.UniqueNick}, "namespace": {strconv.Itoa(ref.Namespace)},
	}
	err = c.call(ctx, http.MethodGet, "/api/v1/account?"+v.Encode(), nil, &a)
	return a, err
}

// SetPassword implements AccountOperator.
func (c *Client) SetPassword(ctx context.Context, id storage.UserID, password string) error {
	return c.call(ctx, http.MethodPut, accountPath(id, "/password"), newPassword{password}, nil)
}

// BanAccount implements AccountOperator.
func (c *Client) BanAccount(ctx context.Context, id storage.UserID, b storage.AccountBan) error {
	return c.call(ctx, http.MethodPut, accountPath(id, "/ban"), b, nil)
}

// UnbanAccount implements AccountOperator.
func (c *Client) UnbanAccount(ctx context.Context, id storage.UserID) error {
	return c.call(ctx, http.MethodDelete, accountPath(id, "/ban"), nil, nil)
}

// DeleteAccount implements AccountOperator.
func (c *Client) DeleteAccount(ctx context.Context, id storage.UserID) error {
	return c.call(ctx, http.MethodDelete, accountPath(id, ""), nil, nil)
}

// errExportCut is returned for an export that ended too early.
var errExportCut = errors.New("the daemon broke the export off; see its log")

// ExportAccounts implements AccountOperator.
func (c *Client) ExportAccounts(ctx context.Context, w io.Writer, secrets bool) (leftOut int, err error) {
	resp, err := c.do(ctx, http.MethodGet, "/api/v1/accounts/export?secrets="+strconv.FormatBool(secrets), nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(w, resp.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errExportCut
	}
	if err != nil {
		return 0, err
	}
	if leftOut, err = strconv.Atoi(resp.Trailer.Get(leftOutTrailer)); err != nil {
		return 0, errExportCut
	}
	return leftOut, nil
}

// maxImport is how much of an import is sent at once, in bytes of JSON. One
// account is always sent.
const maxImport = 4 << 20

// ImportAccounts implements AccountOperator. It sends as many parts as it takes.
func (c *Client) ImportAccounts(ctx context.Context, list []accounts.Account) (all []operator.Imported, err error) {
	err = inParts(list, func(part []accounts.Account) error {
		var out []operator.Imported
		err := c.call(ctx, http.MethodPost, "/api/v1/accounts/import", importBody{part}, &out)
		if err == nil && len(out) != len(part) {
			err = fmt.Errorf("the daemon answered about %d accounts of %d", len(out), len(part))
		}
		all = append(all, out...)
		return err
	})
	return all, err
}

// ImportBuddies implements AccountOperator.
func (c *Client) ImportBuddies(ctx context.Context, list []accounts.Account) error {
	return inParts(list, func(part []accounts.Account) error {
		return c.call(ctx, http.MethodPost, "/api/v1/accounts/import/buddies", importBody{part}, nil)
	})
}

// inParts runs f on parts of a list that are at most MaxAccountPage accounts
// and maxImport bytes.
func inParts(list []accounts.Account, f func([]accounts.Account) error) error {
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && n < operator.MaxAccountPage {
			b, err := json.Marshal(list[n].Profiles) // the rest is short
			if err != nil {
				return err
			}
			if size += len(b); n > 0 && size > maxImport {
				break
			}
			n++
		}
		if err := f(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// RotateAccountKey implements AccountOperator.
func (c *Client) RotateAccountKey(ctx context.Context) (int, error) {
	resp, err := c.do(ctx, http.MethodPost, "/api/v1/accounts/rotate-key", nil) // as long as it takes
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	var v done
	err = json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&v)
	return v.Done, err
}
