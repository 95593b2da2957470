# A study from R: Rscript client.R study.toml
library(jsonlite)

surefoot <- function(...) {
  output <- suppressWarnings(system2("surefoot", shQuote(c(...)), stdout = TRUE))
  status <- attr(output, "status")
  if (is.null(status)) fromJSON(output, simplifyVector = FALSE) else NULL
}

measure <- function(params) {
  12 + 3 * log(params$threads / 10)^2 + log(params$buffer / 20)^2
}

study <- commandArgs(trailingOnly = TRUE)[1]
repeat {
  asked <- surefoot("ask", study, "--json")
  if (is.null(asked)) break
  for (one in asked) {
    value <- format(measure(one$params), digits = 15)
    told <- surefoot("tell", study, as.character(one$id), value, "--worker", "R", "--json")
    cat(told$finished, "of", told$rounds, ":", told$value, "ms\n")
  }
}
best <- surefoot("predict", study, "recommended", "--json")[[1]]
cat("recommended", toJSON(best$params, auto_unbox = TRUE), "with", best$value, "ms\n")
