-- A project that nobody allowed to be run: whatever its user does, neither its code nor its interpreter is.
return function(T)
  local seen = T.seen
  local cmd = { vim.env.SERVER, "--stdio", "--test" }
  if vim.fn.has("nvim-0.11") == 1 then -- Neovim's own way does as well
    vim.lsp.config("graphglue", { cmd = cmd })
    vim.lsp.enable("graphglue")
  else
    require("graphglue").setup({ cmd = cmd })
  end
  vim.cmd("edit model.py")
  T.wait("a prediction", function()
    return #T.predictions() == 1
  end)
  seen.status = require("graphglue").status()
  seen.first = vim.diagnostic.get(0, { lnum = 0 })[1].message
  for _, command in ipairs({ "Analyze", "GlueAll", "ShowGraph", "WriteInputs", "Record", "Doctor", "Glue", "Explain" }) do
    vim.cmd("Graphglue" .. command)
  end
  vim.cmd("silent write")
  T.sync()
  seen.health = T.health()
  seen.windows = #vim.tbl_filter(function(buffer)
    return vim.bo[buffer].buftype == "terminal"
  end, vim.api.nvim_list_bufs())
  seen.summaries = #T.summaries()
  seen.traces = vim.fn.glob("*-ran", false, true)

  -- The proof can fail: once it is trusted the same traces are there.
  vim.cmd("GraphglueTrust")
  T.wait_for_client("the client after trust")
  T.wait("the interpreter of the project", function()
    return vim.fn.filereadable("python-ran") == 1
  end)
  T.sync()
  seen.allowed = vim.fn.glob("*-ran", false, true)
  for _, trace in ipairs(seen.allowed) do
    vim.fn.delete(trace)
  end
  vim.cmd("GraphglueDistrust")
  T.wait_for_client("the client after distrust")
  vim.cmd("silent write")
  T.sync()
  seen.after_distrust = vim.fn.glob("*-ran", false, true)
  T.finish()
end
