package api

// Outside returns the paths outside of /api/v1; all are read.
func Outside() []string { return []string{healthPath, readyPath, metricsPath} }

// Operations returns the method and the path of each operation under /api/v1.
func Operations() [][2]string {
	var all [][2]string
	for _, r := range new(service).routes() {
		all = append(all, [2]string{r.method, r.path})
	}
	return all
}
