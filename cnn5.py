import torch, torch.nn as nn, time
torch.manual_seed(0)
t=time.time()
m=nn.Sequential(nn.Conv2d(1,8,3),nn.ReLU(),nn.MaxPool2d(2),nn.Flatten(),nn.Linear(8*13*13,10)).cuda()
o=torch.optim.SGD(m.parameters(),lr=.1)
for i in range(5):
    x=torch.randn(32,1,28,28).cuda(); y=torch.randint(0,10,(32,)).cuda()
    l=nn.functional.cross_entropy(m(x),y); o.zero_grad(); l.backward(); o.step()
    print(i,float(l), time.time()-t, flush=True)
