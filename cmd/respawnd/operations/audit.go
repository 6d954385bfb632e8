package operations

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// auditLines is how many entries `audit` shows by default.
const auditLines = 50

var errAuditLimit = errors.New("--limit: a number of entries, or 0 for all of them")

func auditCommand(con *cli.Console) *cobra.Command {
	in := &operator.AuditQuery{Limit: auditLines}
	return cli.Showing(con, &operator.ReadAudit.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		if in.Limit < 0 {
			return cli.Misused(errAuditLimit)
		}
		entries, leftOut, err := readAudit(ctx, c, in.Limit)
		if err != nil {
			return err
		}
		if leftOut > 0 {
			_, _ = fmt.Fprintf(con.Err, "warning: %d entries cannot be read and are left out\n", leftOut)
		}
		return cli.Show(con, "time\tvia\tby…\tfrom\taction\tsubject…\tdetail…", entries, func(e storage.AuditEntry) []string {
			return []string{
				cli.Stamp(e.Time), cli.Dash(string(e.Via)), cli.Dash(e.By), auditFrom(e), cli.Dash(e.Action), auditSubject(e), cli.Dash(e.Detail),
			}
		})
	})
}

// readAudit returns the newest entries, page by page.
func readAudit(ctx context.Context, op operator.Conn, limit int) (entries []storage.AuditEntry, leftOut int, err error) {
	var before uint64
	for limit == 0 || len(entries) < limit {
		q := operator.AuditQuery{Before: before, Limit: operator.MaxAuditPage}
		if limit > 0 {
			q.Limit = min(limit-len(entries), operator.MaxAuditPage)
		}
		page, err := operator.ReadAudit.Call(ctx, op, q)
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, page.Entries...)
		leftOut += page.LeftOut
		if page.Next == 0 {
			break
		}
		before = page.Next
	}
	return entries, leftOut, nil
}

func auditFrom(e storage.AuditEntry) string {
	if !e.From.IsValid() {
		return "-"
	}
	return e.From.String()
}

func auditSubject(e storage.AuditEntry) string {
	if e.ID == 0 {
		return cli.Dash(e.Subject)
	}
	return cli.Dash("#" + strconv.FormatUint(uint64(e.ID), 10) + " " + e.Subject)
}
