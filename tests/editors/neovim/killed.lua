-- The server is killed while it is used: it comes back, and what it had said with it, but not for ever.
return function(T)
  local seen = T.seen
  require("graphglue").setup({
    cmd = { vim.env.SERVER, "--stdio", "--test" },
    settings = { python = vim.env.PYTHON },
    trusted = true,
  })
  vim.cmd("edit model.py")
  T.wait("a diagnostic", function()
    return #T.breaks() == 1
  end)
  T.wait_for_summary("2 graphs · 1 break")

  local function kill()
    local id = T.clients()[1].id
    local pids = vim.fn.readfile("pids")
    vim.loop.kill(tonumber(pids[#pids]), "sigkill")
    T.wait("the end of the client", function()
      return vim.lsp.get_client_by_id(id) == nil
    end)
  end
  seen.back = 0
  for _ = 1, 3 do
    kill()
    T.wait_for_client("the client after a kill")
    T.wait("the diagnostic after a kill", function()
      return #T.breaks() == 1
    end)
    T.wait_for_summary("2 graphs · 1 break")
    seen.back = seen.back + 1
  end
  kill()
  T.wait("giving up", function()
    return T.said(":GraphglueRestart")
  end)
  seen.left = { clients = #T.clients(), findings = #vim.diagnostic.get(0), summaries = #T.summaries() }
  vim.cmd("GraphglueRestart")
  T.wait_for_client("the client after :GraphglueRestart")
  T.wait("the diagnostic after :GraphglueRestart", function()
    return #T.breaks() == 1
  end)
  T.finish()
end
